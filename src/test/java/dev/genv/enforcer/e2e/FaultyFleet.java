package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.RealHosts;
import dev.genv.enforcer.testsupport.RealSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.awaitility.Awaitility;

/**
 * Two machines that are enforced over SSH. One of them suffers; on it run a well-behaved job and a process that breaks a
 * rule for good, which is only audited. The other one must not notice anything.
 */
final class FaultyFleet implements AutoCloseable {
    private static final String OWN = "own";
    private static final Duration PATIENCE = HANG.multipliedBy(2);

    private final SshFleet fleet;
    private final RealSshd lost;
    private final RealSshd other;
    private final List<Child> children = new ArrayList<>();
    private final Child member;
    private final Node.Service service;
    private final Face face;

    /** What came of a fault, as it was seen from outside. */
    record Outcome(RemoteFault fault, Fault.Stray stray, String status, Set<String> told) {}

    FaultyFleet(Path directory) throws IOException {
        fleet = new SshFleet(directory);
        lost = fleet.start("gpu-1");
        other = fleet.start("gpu-2");
        var shell = add(Child.withEnvironment(Map.of()));
        member = add(Child.inEnvironment(OWN));
        lost.state()
                .own(OWN, "8g", shell.pid())
                .device(0, OWN)
                .device(1)
                .device(2)
                .write();
        lost.gpus()
                .process(0, member.pid(), "100")
                .process(2, add(Child.inEnvironment("gone")).pid(), "100");
        fleet.list(lost, other)
                .node
                .set("NON_ENV_PROCESSES", "enforce")
                .set("INACTIVE_ENV_PROCESSES", "audit")
                .set("LOCK_TIMEOUT", "1s")
                .set("GPU_TIMEOUT", "2s")
                .set("REMOTE_TIMEOUT", "8s");
        service = fleet.node.serve();
        face = new Face(service);
    }

    /** The machine that suffers. */
    RealSshd host() {
        return lost;
    }

    RealHosts hosts() {
        return fleet.hosts;
    }

    /** Makes it happen, looks what becomes of everybody, undoes it, and waits until all is well. */
    Outcome suffer(RemoteFault fault) throws Exception {
        face.awaitGood(PATIENCE, lost.target());
        face.awaitGood(PATIENCE, other.target());
        var lasting = lastingViolation();
        fault.make().run(this);
        try (var stray = Child.withEnvironment(Map.of());
                var elsewhere = Child.withEnvironment(Map.of())) {
            Outcome outcome;
            try {
                lost.gpus().process(1, stray.pid(), "10");
                other.gpus().process(1, elsewhere.pid(), "10");
                outcome = whileItLasts(fault, stray, elsewhere);
                assertThat(lastingViolation().path("id"))
                        .as(
                                "%s%n%s",
                                face.json("/violations?rule=inactive-env-processes"), String.join("\n", service.said()))
                        .isEqualTo(lasting.path("id"));
            } finally {
                fault.undo().run(this);
            }
            face.awaitGood(PATIENCE, lost.target());
            Awaitility.await().atMost(PATIENCE).until(() -> !stray.isAlive());
            assertUnharmed(lasting);
            return outcome;
        }
    }

    private Outcome whileItLasts(RemoteFault fault, Child stray, Child elsewhere) throws IOException {
        // The trouble lasts: nobody waits for its end.
        elsewhere.awaitEnd();
        var told = new TreeSet<String>();
        var look = face.look(other.target());
        var here = face.look(lost.target());
        var deadline = System.nanoTime() + PATIENCE.toNanos();
        // The look that was under way at first may not have seen it: there are two at least.
        for (var looks = 0; looks < 2 || !isAsExpected(fault, stray, here, told); looks++) {
            assertThat(System.nanoTime())
                    .as("%s: the stray process is %s, told was %s, %s", fault, stray.isAlive(), told, here)
                    .isLessThan(deadline);
            look = face.after(look, other.target());
            assertThat(look.status()).as("the other machine").isEqualTo("ok");
            here = face.look(lost.target());
            told.addAll(here.problems());
        }
        told.removeAll(fault.perhaps());
        assertThat(told).isEqualTo(fault.told());
        assertThat(face.status("/q/health/ready")).as("readiness").isEqualTo(200);
        return new Outcome(fault, stray.isAlive() ? Fault.Stray.SPARED : Fault.Stray.ENDED, here.status(), told);
    }

    private static boolean isAsExpected(RemoteFault fault, Child stray, Face.Look look, Set<String> told) {
        return look.status().equals(fault.status())
                && told.containsAll(fault.told())
                && stray.isAlive() == (fault.stray() == Fault.Stray.SPARED);
    }

    /** It is there all the time, whatever can be seen. */
    private JsonNode lastingViolation() throws IOException {
        var violations = face.json("/violations?status=active&rule=inactive-env-processes");
        assertThat(violations)
                .as("%s%n%s", face.json("/violations?rule=inactive-env-processes"), String.join("\n", service.said()))
                .hasSize(1);
        return violations.path(0);
    }

    private void assertUnharmed(JsonNode lasting) throws IOException {
        var now = lastingViolation();
        assertThat(now.path("id"))
                .as("%s%n%s", face.json("/violations?rule=inactive-env-processes"), String.join("\n", service.said()))
                .isEqualTo(lasting.path("id"));
        assertThat(now.path("cycles").asInt())
                .isGreaterThan(lasting.path("cycles").asInt());
        assertThat(service.process().isAlive()).as("the service lives").isTrue();
        assertThat(face.status("/q/health/live")).as("liveness").isEqualTo(200);
        assertThat(children).as("the well-behaved jobs live").allMatch(Child::isAlive);
        assertThat(service.said())
                .as("the log")
                .noneMatch(line -> line.contains("action=") && line.contains("pid=%d ".formatted(member.pid())));
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
