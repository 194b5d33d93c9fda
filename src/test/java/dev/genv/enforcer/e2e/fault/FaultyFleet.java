package dev.genv.enforcer.e2e.fault;

import static dev.genv.enforcer.e2e.ServiceClient.TIME_LIMIT_CODES;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.SshFleet;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Two machines with enforcement over SSH. One machine has the faults, a job that breaks no rule, and a process that always breaks an audited rule. The faults must not affect the other machine.
 */
final class FaultyFleet implements AutoCloseable {
    private static final String ENVIRONMENT = "own";
    private static final Duration TIMEOUT = HANG.multipliedBy(2);

    private final SshFleet fleet;
    /** The machine with the faults. */
    final RealSshd machine;

    private final RealSshd healthy;
    private final List<Child> children = new ArrayList<>();
    private final Child member;
    private final Node.Service service;
    private final ServiceClient serviceClient;

    /** The observed effects of a fault. */
    record Outcome(Fault<FaultyFleet> fault, Fault.StrayOutcome strayOutcome, String status, Set<String> reported) {}

    FaultyFleet(Path directory) throws IOException {
        fleet = new SshFleet(directory);
        machine = fleet.startMachine("gpu-1");
        healthy = fleet.startMachine("gpu-2");
        var shell = add(Child.withEnvironment(Map.of()));
        member = add(Child.inEnvironment(ENVIRONMENT));
        machine.state()
                .ownEnv(ENVIRONMENT, "8g", shell.pid())
                .device(0, ENVIRONMENT)
                .device(1)
                .device(2)
                .write();
        machine.gpus()
                .process(0, member.pid(), "100")
                .process(2, add(Child.inEnvironment("gone")).pid(), "100");
        fleet.setHosts(machine, healthy)
                .node
                .set("NON_ENV_PROCESSES", "enforce")
                .set("GRACE", "1s")
                .set("INACTIVE_ENV_PROCESSES", "audit")
                .set("LOCK_TIMEOUT", "1s")
                .set("GPU_TIMEOUT", "5s")
                .set("REMOTE_TIMEOUT", "20s");
        service = fleet.node.startService();
        serviceClient = new ServiceClient(service);
    }

    RealHosts hosts() {
        return fleet.hosts;
    }

    /** Injects the fault, records its effects, removes it, and waits until the service has recovered. */
    Outcome runFault(Fault<FaultyFleet> fault) throws Exception {
        serviceClient.awaitHealthy(TIMEOUT, machine.target());
        serviceClient.awaitHealthy(TIMEOUT, healthy.target());
        var lasting = persistentViolation();
        fault.inject.run(this);
        try (var stray = Child.withEnvironment(Map.of());
                var elsewhere = Child.withEnvironment(Map.of())) {
            Outcome outcome;
            try {
                machine.gpus().process(1, stray.pid(), "10");
                healthy.gpus().process(1, elsewhere.pid(), "10");
                outcome = awaitOutcome(fault, stray, elsewhere);
                assertThat(persistentViolation().path("id")).isEqualTo(lasting.path("id"));
            } finally {
                fault.undo.run(this);
            }
            serviceClient.awaitHealthy(TIMEOUT, machine.target());
            await().atMost(TIMEOUT).until(() -> !stray.isAlive());
            var now = persistentViolation();
            assertThat(now.path("id")).isEqualTo(lasting.path("id"));
            assertThat(now.path("cycles").asInt())
                    .isGreaterThan(lasting.path("cycles").asInt());
            assertThat(serviceClient.status("/q/health/live")).as("liveness").isEqualTo(200);
            assertThat(children).as("the well-behaved jobs live").allMatch(Child::isAlive);
            assertThat(service.outputLines())
                    .as("the log")
                    .noneMatch(line -> line.contains("action=") && line.contains("pid=%d ".formatted(member.pid())));
            return outcome;
        }
    }

    private Outcome awaitOutcome(Fault<FaultyFleet> fault, Child stray, Child elsewhere) throws IOException {
        // Do not wait for a permanent fault.
        elsewhere.awaitExit();
        var status = fault.isUnreachable
                ? "unreachable"
                : fault.strayOutcome == Fault.StrayOutcome.TERMINATED ? "ok" : "degraded";
        var reported = new TreeSet<String>();
        var observation = serviceClient.observe(healthy.target());
        var here = serviceClient.observe(machine.target());
        var deadline = System.nanoTime() + TIMEOUT.toNanos();
        // The first observation may have begun before the fault, so wait for two.
        for (var observations = 0;
                observations < 2
                        || !observation.status().equals("ok")
                        || !here.status().equals(status)
                        || !reported.containsAll(fault.reported)
                        || Fault.StrayOutcome.of(stray) != fault.strayOutcome;
                observations++) {
            assertThat(System.nanoTime())
                    .as(
                            "%s: the stray process is %s, told was %s, %s, the other machine %s",
                            fault, stray.isAlive(), reported, here, observation)
                    .isLessThan(deadline);
            observation = serviceClient.awaitNext(observation, healthy.target());
            here = serviceClient.observe(machine.target());
            reported.addAll(here.problems());
        }
        reported.removeIf(code -> !fault.reported.contains(code)
                && (TIME_LIMIT_CODES.contains(code) || fault.possiblyReported.contains(code)));
        assertThat(reported).isEqualTo(fault.reported);
        await("readiness").until(() -> serviceClient.status("/q/health/ready") == 200);
        return new Outcome(fault, Fault.StrayOutcome.of(stray), here.status(), reported);
    }

    /** The violation exists all the time, also when the machine cannot be observed. */
    private JsonNode persistentViolation() throws IOException {
        var violations = serviceClient.json("/violations?status=active&rule=inactive-env-processes");
        assertThat(violations)
                .as("%s", String.join("\n", service.outputLines()))
                .hasSize(1);
        return violations.path(0);
    }

    private Child add(Child child) {
        children.add(child);
        return child;
    }

    @Override
    public void close() throws IOException {
        fleet.close();
        children.forEach(Child::close);
    }
}
