package dev.genv.enforcer.e2e.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.FileVersions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A single cycle of the packaged program, interval 0. */
class OneCycleIT extends NodeSuite {
    @Test
    void auditModeReportsEverythingOpensNoPortAndChangesNothing() throws IOException {
        try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                var shell = Child.withEnvironment(Map.of());
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
            var port = Integer.toString(taken.getLocalPort());

            var output = node.variable("QUARKUS_HTTP_PORT", port)
                    .variable("QUARKUS_MANAGEMENT_PORT", port)
                    .set("MODE", "audit")
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
            assertThat(List.of(shell, stray, elsewhere, greedy, orphan)).allMatch(Child::isAlive);
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
    void processOfExemptUserIsReportedAndNotTerminated() throws IOException {
        try (var stray = startStray()) {
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

    /** The reader of the last one exits before there is any output. */
    @ParameterizedTest
    @ValueSource(strings = {"\"$@\" >/dev/full", "\"$@\" >&-", "exec 3> >(exec sleep 0); wait $!; \"$@\" >&3"})
    void exitCodeIsOneWhenTheOutputCannotBeWritten(String script) throws IOException {
        try (var stray = startStray()) {
            var exitCode = directory.resolve("exit-code");
            var output = node.launchWith("/bin/bash", "-c", "%s; echo $? >%s".formatted(script, exitCode), "bash")
                    .set("NON_ENV_PROCESSES", "audit")
                    .runOnce();

            assertThat(exitCode).content().isEqualTo("1\n");
            assertThat(output.log())
                    .anyMatch(line -> line.contains("Exit code 1: standard output cannot be written: "));
            assertThat(stray.isAlive()).isTrue();
        }
    }

    @Test
    void exitCodeIsOneWhenTheObservationIsIncomplete() throws IOException {
        node.gpus.fault("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");
        assertExitCodeIsOne("Driver/library version mismatch");
        node.gpus.noFault();
        Files.writeString(node.stateDirectory.resolve("envs.json"), "{\"envs\": [{\"uid\": 1}]}");
        assertExitCodeIsOne("Exit code 1: [gpu-1] entry_unreadable: ");
        new ServiceClient(node.startService()).awaitObservation();
        assertExitCodeIsOne("Exit code 1: [gpu-1] second_enforcer: ");
    }

    private void assertExitCodeIsOne(String reason) throws IOException {
        var output = node.runOnce();
        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains(reason));
    }

    private Child startStray() throws IOException {
        var stray = Child.withEnvironment(Map.of());
        node.gpus.process(0, stray.pid(), "10");
        return stray;
    }
}
