package dev.genv.enforcer.e2e.tutorial;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scenarios of genv's own tutorial on enforcement, with the packaged program; subclasses set the machine. */
public abstract class Tutorial {
    private static final int SIGTERM_EXIT = 143;

    @TempDir
    public Path directory;

    /** The program with its settings. */
    public Node node;

    /** The machine's state, which has no devices yet. */
    public StateFiles state;

    /** The three GPUs of the machine. */
    public FakeNvidiaSmi gpus;

    public Path devicesJson;

    /** The prefix of a line about the machine. */
    public String prefix = "";

    /** The text of a report about the number of machines. */
    public String hostsSuffix = "";

    @Test
    void processOutsideAllEnvironmentsIsTerminated() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            gpus.process(0, stray.pid(), "139");

            var output = node.set("NON_ENV_PROCESSES", "true").runOnce();

            assertThat(stray.awaitExit()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.exitCode()).isZero();
            assertThat(output.out())
                    .containsExactly(
                            withPrefix("Process %d is not running in a GPU environment".formatted(stray.pid())),
                            withPrefix("Terminating process %d from environment N/A that is running on GPU(s) 0"
                                    .formatted(stray.pid())));
        }
    }

    @Test
    void processInEnvironmentWithAttachedDeviceIsNotTerminated() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            writeEnvironmentWithOneDevice(shell, member);

            var output = node.set("NON_ENV_PROCESSES", "true").runOnce();

            assertThat(output.exitCode()).isZero();
            assertThat(output.out()).isEmpty();
            assertThat(member.isAlive()).isTrue();
        }
    }

    @Test
    void processOnUnattachedDeviceIsTerminated() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            writeEnvironmentWithOneDevice(shell, member);
            gpus.process(1, member.pid(), "139");

            var output = node.runOnce();

            assertThat(member.awaitExit()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.out())
                    .containsExactly(
                            withPrefix("Process %d from environment 67609 is using non-attached GPU(s) 1"
                                    .formatted(member.pid())),
                            withPrefix("Terminating process %d from environment 67609 that is running on GPU(s) 0,1"
                                    .formatted(member.pid())));
        }
    }

    @Test
    void limitOfOneAllowsOneDevice() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            writeEnvironmentWithOneDevice(shell, member);

            var output = node.set("MAX_DEVICES_PER_USER", 1).runOnce();

            assertThat(output.out()).isEmpty();
            assertThat(member.isAlive()).isTrue();
            assertThat(devicesJson).hasContent(state.devicesJson());
        }
    }

    @Test
    void limitOfZeroDetachesTheDevice() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("67609")) {
            writeEnvironmentWithOneDevice(shell, member);

            var output = node.set("MAX_DEVICES_PER_USER", 0).runOnce();

            assertThat(member.awaitExit()).isEqualTo(SIGTERM_EXIT);
            assertThat(output.out())
                    .containsExactly(
                            "User %s is using 1 devices%s which is 1 more than the maximum allowed"
                                    .formatted(CurrentProcess.name(), hostsSuffix),
                            withPrefix("Terminating process %d from environment 67609 that is running on GPU(s) 0"
                                    .formatted(member.pid())),
                            withPrefix("Detaching environment 67609 of user %s from device 0"
                                    .formatted(CurrentProcess.name())));
            var detached = state.device(0).devicesJson();
            assertThat(Files.readString(devicesJson))
                    .as("byte for byte in genv's form")
                    .isEqualTo(detached);
            assertThat(Files.getPosixFilePermissions(devicesJson)).hasSize(6);
            assertThat(shell.isAlive()).isTrue();
        }
    }

    private String withPrefix(String words) {
        return prefix + words;
    }

    private void writeEnvironmentWithOneDevice(Child shell, Child member) throws IOException {
        state.ownEnv("67609", null, shell.pid())
                .device(0, "67609")
                .device(1)
                .device(2)
                .write();
        gpus.process(0, member.pid(), "139");
    }
}
