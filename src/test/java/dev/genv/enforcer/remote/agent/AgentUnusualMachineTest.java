package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Machines as there are few. */
@Timeout(600)
class AgentUnusualMachineTest {
    @TempDir
    private Path folder;

    @Test
    void readsTicksShortlyAfterBoot() throws Exception {
        var machine = new Machine(folder);
        var proc = folder.resolve("proc");
        machine.useFakeProc(proc);
        for (var ticks : List.of(0, 8, 9, 80, 908, 1009)) {
            Files.writeString(proc.resolve("uptime"), "%d.%02d 0.00\n".formatted(ticks / 100, ticks % 100));
            assertThat(machine.observe().ticks()).isEqualTo((long) ticks);
        }
    }

    /** More than one command line can hold. */
    @Test
    void observesMachineWithManyProcesses() throws Exception {
        var machine = new Machine(folder);
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
}
