package dev.genv.enforcer.e2e.cycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The exit code of a single cycle shows whether its output is complete. */
class OneCycleExitCodeIT extends NodeSuite {
    @Test
    void isOneWhenTheOutputCannotBeWritten() throws IOException {
        try (var stray = startStray()) {
            for (var redirection : new String[] {">/dev/full", ">&-"}) {
                var output = node.launchWith("/bin/sh", "-c", "exec \"$@\" " + redirection, "sh")
                        .set("MODE", "audit")
                        .runOnce();

                assertThat(output.exitCode()).as(redirection).isEqualTo(1);
                assertThat(output.log())
                        .anyMatch(line -> line.contains("Exit code 1: standard output cannot be written: "));
                assertThat(stray.isAlive()).isTrue();
            }
        }
    }

    @Test
    void isOneWhenTheReaderOfTheOutputIsGone() throws IOException {
        try (var stray = startStray()) {
            var exitCode = directory.resolve("exit-code");
            node.launchWith(
                            "/bin/bash",
                            "-c",
                            // The reader exits before there is any output.
                            "exec 3> >(exec sleep 0); wait $!; \"$@\" >&3; echo $? >%s".formatted(exitCode),
                            "bash")
                    .set("MODE", "audit")
                    .runOnce();

            assertThat(exitCode).content().isEqualTo("1\n");
            assertThat(stray.isAlive()).isTrue();
        }
    }

    @Test
    void isOneWhenAnotherEnforcerIsActive() throws IOException {
        new ServiceClient(node.startService()).awaitObservation();

        var output = node.runOnce();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains("Exit code 1: [gpu-1] second_enforcer: "));
    }

    @Test
    void isOneWhenAnEntryIsUnreadable() throws IOException {
        Files.writeString(node.stateDirectory.resolve("envs.json"), "{\"envs\": [{\"uid\": 1}]}");

        var output = node.runOnce();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains("Exit code 1: [gpu-1] entry_unreadable: "));
    }

    /** The first of two services waits for its reader, and must not prevent actions of the second one. */
    @Test
    void holdsNoLockWhileTheOutputIsNotRead() throws Exception {
        try (var stray = startStray()) {
            var pipe = directory.resolve("pipe");
            Fifo.at(pipe);
            // More than a pipe holds, so that the write blocks.
            node.launchWith(
                            "/bin/bash",
                            "-c",
                            "exec 4<>%1$s; head -c 65536 /dev/zero >&4; exec \"$@\" >&4".formatted(pipe),
                            "bash")
                    .set("MODE", "enforce")
                    .set("NON_ENV_PROCESSES", "audit")
                    .set("INTERVAL", 0);
            var first = node.start();
            // The cycle writes this line while it has the lock.
            await().until(() ->
                    first.outputLines().stream().anyMatch(line -> line.contains("pid=%d ".formatted(stray.pid()))));

            try (var second = new Node(Files.createDirectory(directory.resolve("second")))) {
                second.set("STATE_DIR", node.stateDirectory).set("NVIDIA_SMI", node.gpus.path());
                await().until(() ->
                        second.runOnce().log().stream().noneMatch(line -> line.contains("second_enforcer")));
            }
            assertThat(first.process().isAlive()).isTrue();
            assertThat(stray.isAlive()).isTrue();
        }
    }

    private Child startStray() throws IOException {
        var stray = Child.withEnvironment(Map.of());
        node.gpus.process(0, stray.pid(), "10");
        node.set("NON_ENV_PROCESSES", "audit");
        return stray;
    }
}
