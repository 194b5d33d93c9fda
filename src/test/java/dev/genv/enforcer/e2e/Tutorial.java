package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.Myself;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scenarios of genv's own tutorial on enforcement, with the packaged program; where they take place, others say. */
abstract class Tutorial {
    private static final int SIGTERM_EXIT = 143;

    @TempDir
    Path directory;

    /** The program, all set to run. */
    Node node;

    /** The machine's state, which has no devices yet. */
    StateFiles state;

    /** The machine's GPUs, three of them. */
    FakeNvidiaSmi gpus;

    Path devicesJson;

    /** What a report puts in front of a line about that machine. */
    String prefix = "";

    /** What a report says of the number of machines. */
    String onHosts = "";

    @Test
    void aStrayProcessIsEnded() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            gpus.process(0, stray.pid(), "139");

            var output = node.set("NON_ENV_PROCESSES", "true").once();

            assertThat(stray.awaitEnd()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.exitCode()).isZero();
            assertThat(output.out())
                    .containsExactly(
                            here("Process %d is not running in a GPU environment".formatted(stray.pid())),
                            here("Terminating process %d from environment N/A that is running on GPU(s) 0"
                                    .formatted(stray.pid())));
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
            gpus.process(1, member.pid(), "139");

            var output = node.once();

            assertThat(member.awaitEnd()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.out())
                    .containsExactly(
                            here("Process %d from environment 67609 is using non-attached GPU(s) 1"
                                    .formatted(member.pid())),
                            here("Terminating process %d from environment 67609 that is running on GPU(s) 0,1"
                                    .formatted(member.pid())));
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
            assertThat(devicesJson).hasContent(state.devicesJson());
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
                            "User %s is using 1 devices%s which is 1 more than the maximum allowed"
                                    .formatted(Myself.name(), onHosts),
                            here("Terminating process %d from environment 67609 that is running on GPU(s) 0"
                                    .formatted(member.pid())),
                            here("Detaching environment 67609 of user %s from device 0".formatted(Myself.name())));
            var detached = state.device(0).devicesJson();
            assertThat(Files.readString(devicesJson))
                    .as("byte for byte in genv's form")
                    .isEqualTo(detached);
            assertThat(Files.getPosixFilePermissions(devicesJson)).hasSize(6);
            assertThat(shell.isAlive()).isTrue();
        }
    }

    private String here(String words) {
        return prefix + words;
    }

    private void environmentWithADevice(Child shell, Child member) throws IOException {
        state.own("67609", null, shell.pid())
                .device(0, "67609")
                .device(1)
                .device(2)
                .write();
        gpus.process(0, member.pid(), "139");
    }
}
