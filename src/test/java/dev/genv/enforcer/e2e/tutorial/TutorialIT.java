package dev.genv.enforcer.e2e.tutorial;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The scenarios of genv's own tutorial on enforcement, with the packaged program. */
class TutorialIT extends NodeSuite {
    private static final int SIGTERM_EXIT = 143;

    private Child shell;
    private Child member;

    @BeforeEach
    void startMember() throws IOException {
        shell = Child.withEnvironment(Map.of());
        member = Child.inEnvironment("a");
        writeEnvironment(shell);
        node.gpus.process(0, member.pid(), "139");
    }

    @AfterEach
    void endMember() {
        member.close();
        shell.close();
    }

    @Test
    void processOutsideAllEnvironmentsIsTerminated() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "139");

            var output = node.set("NON_ENV_PROCESSES", "true")
                    .set("MAX_DEVICES_PER_USER", 1)
                    .runOnce();

            assertThat(stray.awaitExit()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.exitCode()).isZero();
            assertThat(output.out())
                    .containsExactly(
                            "Process %d is not running in a GPU environment".formatted(stray.pid()),
                            "Terminating process %d from environment N/A that is running on GPU(s) 0"
                                    .formatted(stray.pid()));
            assertThat(member.isAlive()).isTrue();
        }
    }

    @Test
    void processOnUnattachedDeviceIsTerminated() throws IOException {
        node.gpus.process(1, member.pid(), "139");

        var output = node.runOnce();

        assertThat(member.awaitExit()).isEqualTo(SIGTERM_EXIT);
        assertThat(output.out())
                .containsExactly(
                        "Process %d from environment a is using non-attached GPU(s) 1".formatted(member.pid()),
                        "Terminating process %d from environment a that is running on GPU(s) 0,1"
                                .formatted(member.pid()));
    }

    @Test
    void limitOfZeroDetachesTheDevice() throws IOException {
        var output = node.set("MAX_DEVICES_PER_USER", 0).runOnce();

        assertThat(member.awaitExit()).isEqualTo(SIGTERM_EXIT);
        assertThat(output.out())
                .containsExactly(
                        "User %s is using 1 devices which is 1 more than the maximum allowed"
                                .formatted(CurrentProcess.name()),
                        "Terminating process %d from environment a that is running on GPU(s) 0".formatted(member.pid()),
                        "Detaching environment a of user %s from device 0".formatted(CurrentProcess.name()));
        assertThat(Files.readString(node.devicesJson()))
                .as("byte for byte in genv's form")
                .isEqualTo(node.state.device(0).devicesJson());
        assertThat(Files.getPosixFilePermissions(node.devicesJson())).hasSize(6);
        assertThat(shell.isAlive()).isTrue();
    }
}
