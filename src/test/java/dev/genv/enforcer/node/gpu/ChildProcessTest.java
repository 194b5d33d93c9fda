package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.node.gpu.NvidiaSmi.ChildProcess;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class ChildProcessTest extends ChildProcessFixture {
    @Test
    void hasACleanEnvironment() throws Exception {
        assertThat(new ChildProcess(Path.of("/usr/bin/env"), LONG)
                        .run()
                        .stdout()
                        .text()
                        .lines())
                .containsExactlyInAnyOrder("PATH=" + ChildProcess.PATH, "LC_ALL=C", "GENV_BYPASS=1");
    }

    @Test
    void getsItsArgumentsWithoutAShell() throws Exception {
        var output = new ChildProcess(script("printf '%s\\n' \"$@\""), LONG).run("a b", "$HOME; *", "");
        assertThat(output.stdout().text()).isEqualTo("a b\n$HOME; *\n\n");
    }

    @Test
    void hasNoInputAndRunsInTheRootDirectory() throws Exception {
        assertThat(new ChildProcess(script("cat; pwd"), LONG).run().stdout().text())
                .isEqualTo("/\n");
    }

    /** Java opens sockets without O_CLOEXEC. */
    @Test
    void getsNoDescriptorOfTheService() throws Exception {
        try (var _ = new ServerSocket(0)) {
            var descriptors = new ChildProcess(script("exec ls /proc/self/fd"), LONG)
                    .run()
                    .stdout()
                    .text();
            assertThat(descriptors.lines()).containsExactly("0", "1", "2", "3"); // ls opens the directory
        }
    }

    /** Java's threads block SIGQUIT. */
    @Test
    void blocksNoSignal() throws Exception {
        var status = new ChildProcess(Path.of("/bin/cat"), LONG)
                .run("/proc/self/status")
                .stdout()
                .text();
        assertThat(status).contains("SigBlk:\t0000000000000000\n");
    }

    /** Otherwise a program that is missing for weeks would use up all descriptors. */
    @Test
    void leavesNoDescriptorOfAFailedStart() throws Exception {
        var tool = new ChildProcess(folder.resolve("absent"), LONG);
        assertThatThrownBy(tool::run).isInstanceOf(ToolException.class);
        var before = openDescriptors();
        for (var i = 0; i < 100; i++) {
            assertThatThrownBy(tool::run).isInstanceOf(ToolException.class);
        }
        assertThat(openDescriptors()).isLessThan(before + 50);
    }

    private static long openDescriptors() throws IOException {
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.count();
        }
    }

    @Test
    void reportsTheSignalThatEndedIt() throws Exception {
        assertThat(new ChildProcess(script("kill -9 $$"), LONG).run().exitCode())
                .isEqualTo(128 + 9);
    }

    @Test
    void leavesNoZombie() throws Exception {
        var tool = new ChildProcess(script("echo $$"), LONG);
        for (var i = 0; i < 20; i++) {
            assertThat(Path.of("/proc", tool.run().stdout().text().strip())).doesNotExist();
        }
    }

    @Test
    void returnsExitCodeAndOutput() throws Exception {
        assertThat(new ChildProcess(script("echo out; echo err >&2; exit 9"), LONG).run())
                .isEqualTo(output(9, "out\n", "err\n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"exec head -c 20000000 /dev/zero", "exec cat /dev/zero", "exec cat /dev/zero >&2"})
    void refusesOutputAboveTheMaximumSize(String command) throws IOException {
        var tool = new ChildProcess(script(command), LONG);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("printed more than 16777216 bytes");
    }

    @Test
    void readsMoreThanAPipeHolds() throws Exception {
        var output = new ChildProcess(script("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero"), LONG).run();
        assertThat(output.stdout().text()).hasSize(1_000_000);
        assertThat(output.stderr().text()).hasSize(1_000_000);
    }

    @Test
    void missingProgramIsNamedInTheError() {
        assertThatThrownBy(() -> new ChildProcess(folder.resolve("absent"), LONG).run())
                .isInstanceOf(ToolException.class)
                .hasMessageContainingAll(folder.resolve("absent").toString(), "cannot be run");
    }
}
