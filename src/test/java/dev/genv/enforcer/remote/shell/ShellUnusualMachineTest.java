package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandRunner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Machines as there are few. */
@Timeout(600)
class ShellUnusualMachineTest {
    @TempDir
    private Path folder;

    static Stream<String> shells() {
        return ShellBuilder.allShells();
    }

    @ParameterizedTest
    @MethodSource("shells")
    void readsTicksShortlyAfterBoot(String shell) throws Exception {
        var machine = new Machine(folder, shell);
        var proc = folder.resolve("proc");
        machine.useFakeProc(proc);
        for (var ticks : List.of(0, 8, 9, 80, 908, 1009)) {
            Files.writeString(proc.resolve("uptime"), "%d.%02d 0.00\n".formatted(ticks / 100, ticks % 100));
            assertThat(machine.observe().ticks()).isEqualTo((long) ticks);
        }
    }

    /** More than one command can be told of. */
    @ParameterizedTest
    @MethodSource("shells")
    void observesMachineWithManyProcesses(String shell) throws Exception {
        var machine = new Machine(folder, shell);
        var proc = folder.resolve("proc");
        machine.useFakeProc(proc);
        var pids = IntStream.rangeClosed(100_001, 104_500).boxed().toList();
        for (var pid : pids) {
            writeStatus(proc, pid, pid == 104_500 ? 2000 : 1000);
        }
        machine.files()
                .env("1", 1000, null, null, pids, List.of())
                .device(0)
                .device(1)
                .write();
        var environments = machine.observe().snapshot().environments();
        assertThat(environments).hasSize(1);
        assertThat(environments.getFirst().pids()).hasSize(4500);
        assertThat(environments.getFirst().ownership().uids()).containsExactlyInAnyOrder(1000L, 2000L);
    }

    private static void writeStatus(Path proc, int pid, int uid) throws IOException {
        var process = Files.createDirectory(proc.resolve(Integer.toString(pid)));
        Files.writeString(process.resolve("status"), "Name:\tx\nUid:\t%1$d\t%1$d\t%1$d\t%1$d\n".formatted(uid));
    }

    /** What is said by a program of its own can be read by everybody while it runs, in its arguments. */
    @Test
    void reportsShellWithoutBuiltInPrintf() throws Exception {
        var machine = new Machine(folder, "bash");
        var bash = new ShellBuilder("bash");
        CommandRunner poor = request -> bash.run(new CommandRequest(
                request.command(), "enable -n printf\n" + request.input(), request.timeout(), request.maxOutput()));
        assertThat(machine.observe().snapshot().problems())
                .extracting(Problem::code)
                .isSubsetOf(ProblemCode.MISSING_PRIVILEGE);
        assertThatThrownBy(() -> machine.agent().observe(poor, Set.of()))
                .isInstanceOfSatisfying(
                        UnreachableException.class, e -> assertThat(e.code()).isEqualTo(ProblemCode.AGENT_MISSING))
                .hasMessage("there is no printf of its own");
    }
}
