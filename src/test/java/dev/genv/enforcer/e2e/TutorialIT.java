package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.Myself;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The scenarios of genv's own tutorial on enforcement, with the packaged program. */
class TutorialIT extends OnANode {
    private static final int SIGTERM_EXIT = 143;

    @Test
    void aStrayProcessIsEnded() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "139");

            var output = node.set("NON_ENV_PROCESSES", "true").once();

            assertThat(stray.awaitEnd()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.exitCode()).isZero();
            assertThat(output.out())
                    .containsExactly(
                            "Process %d is not running in a GPU environment".formatted(stray.pid()),
                            "Terminating process %d from environment N/A that is running on GPU(s) 0"
                                    .formatted(stray.pid()));
        }
    }

    @Test
    void theSameProcessInAnEnvironmentWithADeviceIsNot() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            environmentWithADevice(shell, member);

            var output = node.set("NON_ENV_PROCESSES", "true").once();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out()).isEmpty();
            assertThat(member.isAlive()).isTrue();
        }
    }

    @Test
    void onADeviceThatItWasNotGivenItIsEnded() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            environmentWithADevice(shell, member);
            node.gpus.process(1, member.pid(), "139");

            var output = node.once();

            assertThat(member.awaitEnd()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.out())
                    .containsExactly(
                            "Process %d from environment 67609 is using non-attached GPU(s) 1".formatted(member.pid()),
                            "Terminating process %d from environment 67609 that is running on GPU(s) 0,1"
                                    .formatted(member.pid()));
        }
    }

    @Test
    void oneDeviceIsNotMoreThanOne() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            environmentWithADevice(shell, member);

            var output = node.set("MAX_DEVICES_PER_USER", 1).once();

            assertThat(output.out()).isEmpty();
            assertThat(member.isAlive()).isTrue();
            assertThat(node.devicesJson()).hasContent(node.state.devicesJson());
        }
    }

    @Test
    void oneDeviceIsMoreThanNone() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            environmentWithADevice(shell, member);

            var output = node.set("MAX_DEVICES_PER_USER", 0).once();

            assertThat(member.awaitEnd()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.out())
                    .containsExactly(
                            "User %s is using 1 devices which is 1 more than the maximum allowed"
                                    .formatted(Myself.name()),
                            "Terminating process %d from environment 67609 that is running on GPU(s) 0"
                                    .formatted(member.pid()),
                            "Detaching environment 67609 of user %s from device 0".formatted(Myself.name()));
            var detached = node.state.device(0).devicesJson();
            assertThat(Files.readString(node.devicesJson()))
                    .as("byte for byte in genv's form")
                    .isEqualTo(detached);
            assertThat(Files.getPosixFilePermissions(node.devicesJson())).hasSize(6);
            assertThat(shell.isAlive()).isTrue();
        }
    }

    private void environmentWithADevice(Child shell, Child member) throws IOException {
        node.state
                .own("67609", null, shell.pid())
                .device(0, "67609")
                .device(1)
                .device(2)
                .write();
        node.gpus.process(0, member.pid(), "139");
    }
}
