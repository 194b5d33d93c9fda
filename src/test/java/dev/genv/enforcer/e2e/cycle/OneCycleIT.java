package dev.genv.enforcer.e2e.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.FileVersions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A single cycle of the packaged program, interval 0. */
class OneCycleIT extends NodeSuite {
    @Test
    void opensNoPort() throws IOException {
        try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            var port = Integer.toString(taken.getLocalPort());
            node.variable("QUARKUS_HTTP_PORT", port).variable("QUARKUS_MANAGEMENT_PORT", port);

            assertThat(node.runOnce().exitCode()).isZero();
        }
    }

    @Test
    void auditModeReportsEverythingAndChangesNothing() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.withEnvironment(Map.of());
                var elsewhere = Child.inEnvironment("a");
                var greedy = Child.inEnvironment("b");
                var orphan = Child.inEnvironment("gone")) {
            node.state
                    .ownEnv("a", null, shell.pid())
                    .ownEnv("b", "1000mi", shell.pid())
                    .device(0, "a")
                    .device(1, "b")
                    .device(2)
                    .write();
            node.gpus
                    .process(0, stray.pid(), "10")
                    .process(2, elsewhere.pid(), "10")
                    .process(1, greedy.pid(), "1100")
                    .process(2, orphan.pid(), "10");
            var before = FileVersions.in(node.stateDirectory);

            var output = node.set("MODE", "audit")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("INACTIVE_ENV_PROCESSES", "enforce")
                    .set("MAX_DEVICES_PER_USER", 1)
                    .runOnce();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out().subList(0, 5))
                    .containsExactly(
                            "Process %d is not running in a GPU environment".formatted(stray.pid()),
                            "Process %d names environment gone, which is not active".formatted(orphan.pid()),
                            "Process %d from environment a is using non-attached GPU(s) 2".formatted(elsewhere.pid()),
                            "User %s is using 2 devices which is 1 more than the maximum allowed"
                                    .formatted(CurrentProcess.name()),
                            "Environment b is using 1153m on device 1 which is 104m over its capacity of 1000mi");
            assertThat(output.out().subList(5, output.out().size()))
                    .hasSize(5)
                    .allMatch(line -> line.endsWith("(skipped_audit: the service only audits)"));
            for (var process : List.of(shell, stray, elsewhere, greedy, orphan)) {
                assertThat(process.isAlive()).isTrue();
            }
            assertThat(FileVersions.in(node.stateDirectory))
                    .as("not even a rewritten file")
                    .isEqualTo(before);
        }
    }

    @Test
    void severalViolationsOfOneProcessAreReportedAndSignalledOnce() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var culprit = Child.inEnvironment("a")) {
            writeEnvironment(shell, "1000mi");
            node.gpus.process(0, culprit.pid(), "1100").process(1, culprit.pid(), "10");

            var output = node.set("MAX_DEVICES_FOR_USER", CurrentProcess.name() + "=0")
                    .runOnce();

            culprit.awaitExit();
            assertThat(output.out())
                    .containsExactly(
                            "Process %d from environment a is using non-attached GPU(s) 1".formatted(culprit.pid()),
                            "User %s is using 1 devices which is 1 more than the maximum allowed"
                                    .formatted(CurrentProcess.name()),
                            "Environment a is using 1153m on device 0 which is 104m over its capacity of 1000mi",
                            "Terminating process %d from environment a that is running on GPU(s) 0,1"
                                    .formatted(culprit.pid()),
                            "Detaching environment a of user %s from device 0".formatted(CurrentProcess.name()));
            assertThat(output.log())
                    .filteredOn(line -> line.contains("action=terminate"))
                    .singleElement()
                    .asString()
                    .contains("rules=env-devices,max-devices-per-user,env-memory")
                    .contains("pid=%d start_time=".formatted(culprit.pid()))
                    .contains("signal=TERM outcome=signalled");
        }
    }

    @Test
    void terminatesViolatingProcessesOfTwoUsers() throws IOException {
        Requirements.root();
        try (var honestUser = Child.ofUser(2001);
                var attacker = Child.ofUser(2002)) {
            node.gpus.process(0, honestUser.pid(), "10").process(1, attacker.pid(), "10");

            var output = node.set("NON_ENV_PROCESSES", "enforce").runOnce();

            honestUser.awaitExit();
            attacker.awaitExit();
            assertThat(output.log())
                    .anyMatch(
                            line -> line.contains("pid=%d ".formatted(honestUser.pid())) && line.contains("uid=2001"));
            assertThat(output.log())
                    .anyMatch(line -> line.contains("pid=%d ".formatted(attacker.pid())) && line.contains("uid=2002"));
        }
    }

    @Test
    void processOfExemptUserIsReportedAndNotTerminated() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");

            var output = node.set("NON_ENV_PROCESSES", "enforce")
                    .set("EXEMPT_USERS", "no-such-user, " + CurrentProcess.uid())
                    .runOnce();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out().getFirst())
                    .isEqualTo("Process %d is not running in a GPU environment".formatted(stray.pid()));
            assertThat(output.out().getLast())
                    .contains("skipped_exempt")
                    .contains("uid %d, which is exempt".formatted(CurrentProcess.uid()));
            assertThat(output.log())
                    .anyMatch(line -> line.contains("setting_user_unknown") && line.contains("no-such-user"));
            assertThat(stray.isAlive()).isTrue();
        }
    }

    /** The service judges the memory of each uid separately. */
    @Test
    void memoryOfAnotherUserTerminatesNoProcessOfTheOwner() throws IOException {
        Requirements.root();
        var environment = Map.of("GENV_ENVIRONMENT_ID", "bobs");
        try (var shell = Child.ofUser(2001);
                var honestUser = Child.ofUser(2001, environment);
                var attacker = Child.ofUser(2002, environment)) {
            node.state
                    .env("bobs", 2001, "bob", "1000mi", shell.pid())
                    .device(0, "bobs")
                    .device(1)
                    .device(2)
                    .write();
            node.gpus.process(0, honestUser.pid(), "900").process(0, attacker.pid(), "1500");

            var output = node.runOnce();

            assertThat(attacker.awaitExit()).isEqualTo(143);
            assertThat(honestUser.isAlive()).isTrue();
            assertThat(output.out())
                    .contains("Process %d of uid 2002 names environment bobs of uid 2001".formatted(attacker.pid()))
                    .noneMatch(line -> line.startsWith("Terminating process %d ".formatted(honestUser.pid())));
        }
    }

    @Test
    void failingNvidiaSmiFailsTheCycle() throws IOException {
        node.gpus.fault("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");

        var output = node.runOnce();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains("Driver/library version mismatch"));
    }

    @Test
    void reportsAllInvalidVariablesAtOnce() throws IOException {
        var output = node.set("MODE", "enforec").set("REMOTE_HOST", "gpu-2").run();

        assertThat(output.exitCode()).isEqualTo(2);
        assertThat(output.out()).isEmpty();
        assertThat(output.log())
                .hasSize(2)
                .anyMatch(line -> line.equals("GENV_ENFORCER_MODE=enforec: expected enforce or audit"))
                .anyMatch(line -> line.startsWith("GENV_ENFORCER_REMOTE_HOST: there is no such setting"));
    }
}
