package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.FileVersions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A single cycle of the packaged program, and what prevents it from starting. */
class OneCycleIT extends NodeSuite {
    private static final String EVIL = "\u001b[2J\u0007\r\nProcess 1 was never here\t\u007f\"' %n%s\\";

    @Test
    void auditModeReportsEverythingOpensNoPortAndChangesNothing() throws Exception {
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

            var output = node.setCertificate(TestCertificate.of("localhost", directory))
                    .variable("QUARKUS_HTTP_PORT", port)
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
                    .allMatch(line ->
                            line.startsWith("Would ") && line.endsWith("(skipped_audit: the service only audits)"));
            assertThat(output.log()).as("a cron job mails each line").isEmpty();
            assertThat(List.of(shell, stray, elsewhere, greedy, orphan)).allMatch(Child::isAlive);
            assertThat(FileVersions.in(node.stateDirectory))
                    .as("not even a rewritten file")
                    .isEqualTo(before);
        }
    }

    @Test
    void processOfExemptUserIsReportedAndNotTerminated() throws IOException {
        try (var stray = startStray()) {
            var output = node.set("NON_ENV_PROCESSES", "enforce")
                    .set("EXEMPT_USERS", "+" + CurrentProcess.uid())
                    .runOnce();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out().getLast())
                    .contains("skipped_exempt")
                    .contains("uid %d, which is exempt".formatted(CurrentProcess.uid()));
            assertThat(stray.isAlive()).isTrue();
        }
    }

    /** It may be the exempt user's: the directory may be down. */
    @Test
    void processOfAUidWithoutAnAccountIsHeldWhileAnExemptUserIsUnknown() throws IOException {
        Requirements.rootWithCapabilities();
        try (var stray = Child.ofUser(TestUsers.HONEST_UID)) {
            node.gpus.process(0, stray.pid(), "10");
            var output = node.set("NON_ENV_PROCESSES", "enforce")
                    .set("EXEMPT_USERS", "no-such-user")
                    .runOnce();

            assertThat(output.exitCode()).isEqualTo(1);
            assertThat(output.out().getLast()).contains("skipped_exempt").contains("user no-such-user, who is exempt");
            assertThat(output.log())
                    .anyMatch(line -> line.contains("Exit code 1") && line.contains("user no-such-user of"));
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

    /** It contains no control characters of users' names. */
    @Test
    void outputIsPrintableText() throws IOException {
        var eid = EVIL + "x".repeat(4096 - EVIL.length());
        var name = Files.createSymbolicLink(directory.resolve("\u001b[1m\nevil"), Path.of("/bin/sleep"));
        try (var shell = Child.withEnvironment(Map.of());
                var job = Child.running(List.of(name.toString(), "600"), Map.of("GENV_ENVIRONMENT_ID", eid));
                var stray = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", "\u001b]0;title\u0007"))) {
            node.state
                    .env(eid, 7, "\u202e" + EVIL, EVIL, shell.pid())
                    .env("b", 7, "\u009b31m", "\u001b", shell.pid())
                    .device(0, eid)
                    .device(1)
                    .device(2)
                    .write();
            node.gpus.process(0, job.pid(), "10").process(1, job.pid(), "10").process(2, stray.pid(), "10");
            node.gpus.process("GPU-\u001b[2J", Integer.toString(stray.pid()), "\u001b[2J");
            node.gpus.process("GPU-0", "\u001b[2J", "1");

            var output = node.set("MODE", "audit")
                    .set("INACTIVE_ENV_PROCESSES", "audit")
                    .set("MAX_DEVICES_PER_USER", 0)
                    .variable("QUARKUS_LOG_LEVEL", "INFO")
                    .runOnce();

            assertThat(output.out()).hasSizeGreaterThan(3);
            assertThat(output.log()).hasSizeGreaterThan(output.out().size());
            assertThat(Stream.concat(output.out().stream(), output.log().stream()))
                    .allSatisfy(line -> assertThat(line)
                            .doesNotContainPattern("\\p{Cntrl}|[\\u0080-\\u009f\\u200b-\\u200f\\u2028-\\u202e]")
                            .doesNotStartWith("Process 1 was")
                            .hasSizeLessThan(8_000));
            assertThat(String.join("\n", output.log())).contains("\\u001b[2J");
        }
    }

    /** They take precedence over variables. A single cycle does not use the folder that the image sets. */
    @Test
    void takesTheArgumentsOfGenv() throws IOException {
        try (var stray = startStray()) {
            node.addDatabase();
            var output = node.set("INTERVAL", "1h")
                    .setArguments("enforce", "--interval", "0", "--non-env-processes", "--max-devices-per-user", "2")
                    .run();

            stray.awaitExit();
            assertThat(output.exitCode()).isZero();
            assertThat(output.out()).contains("Process %d is not running in a GPU environment".formatted(stray.pid()));

            output = node.setArguments("--version").run();
            assertThat(output.exitCode()).isZero();
            assertThat(output.out()).singleElement().asString().matches("genv-enforcer [0-9].*");

            output = node.setArguments("enforce", "--no-such-flag").run();
            assertThat(output.exitCode()).isEqualTo(2);
            assertThat(output.log()).contains("genv-enforcer: error: Unknown option: '--no-such-flag'");
        }
    }

    /** The variable is a setting without its prefix, so the service enforces, and says so. */
    @Test
    void warnsOfAVariableWithoutItsPrefix() throws IOException {
        assertThat(node.variable("ENFORCER_MODE", "audit").runOnce().log())
                .anyMatch(line -> line.contains("ENFORCER_MODE has no effect: the setting is GENV_ENFORCER_MODE"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP", "MANAGEMENT"})
    void portInUseAbortsTheStartBeforeAnyAction(String name) throws IOException {
        try (var other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            node.set("INTERVAL", "1s")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("GRACE", "0s")
                    .variable("QUARKUS_%s_PORT".formatted(name), Integer.toString(other.getLocalPort()));

            assertFailsToStart(
                    node.run(),
                    1,
                    "genv-enforcer cannot start: it cannot listen on 127.0.0.1 port %1$d; the port is in use, or this machine does not have the address (QUARKUS_%2$s_HOST, QUARKUS_%2$s_PORT)"
                            .formatted(other.getLocalPort(), name));
            assertThat(stray.isAlive()).isTrue();
        }
    }

    @Test
    void reportsAllInvalidVariablesAtOnceAndEscapesThem() throws IOException {
        node.set("MODE", "audit\u001b[2J\nGENV_ENFORCER_X=fine").variable("QUARKUS_MANAGEMENT_PORT", "abc");

        assertFailsToStart(
                node.run(),
                2,
                "GENV_ENFORCER_MODE=audit\\u001b[2J\\u000aGENV_ENFORCER_X=fine: expected enforce or audit",
                "QUARKUS_MANAGEMENT_PORT=abc: expected a port, 0 to 65535");
    }

    /** Each reason is reported in one sentence, without a stack trace. */
    private static void assertFailsToStart(Node.Output output, int exitCode, String... sentences) {
        assertThat(output.log()).containsExactlyInAnyOrder(sentences);
        assertThat(output.out()).noneMatch(line -> line.contains("ERROR") || line.contains("[io.quarkus"));
        assertThat(output.exitCode()).isEqualTo(exitCode);
    }
}
