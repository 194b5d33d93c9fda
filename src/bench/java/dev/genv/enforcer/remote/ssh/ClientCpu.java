package dev.genv.enforcer.remote.ssh;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The CPU time of this JVM without its compilers, because these finish their work a few minutes after the start.
 */
final class ClientCpu {
    /** USER_HZ, which is 100 on every architecture that JDK 25 supports (see proc_pid_stat(5)). */
    private static final long NANOS_A_TICK = 10_000_000;

    private ClientCpu() {}

    static long nanos() {
        var ticks = 0L;
        try (var threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (var thread : threads) {
                ticks += ticks(thread.resolve("stat"));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ticks * NANOS_A_TICK;
    }

    /** Returns the CPU time of all child processes that have exited. */
    static long nanosOfChildren() {
        try {
            var fields = fields(Files.readString(Path.of("/proc/self/stat")));
            return (Long.parseLong(fields[13]) + Long.parseLong(fields[14])) * NANOS_A_TICK;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long ticks(Path stat) {
        try {
            var text = Files.readString(stat);
            var fields = fields(text);
            var isCompiler = text.matches("(?s)\\d+ \\(C[12] Compiler.*");
            return isCompiler ? 0 : Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
        } catch (IOException _) {
            return 0; // the thread has ended; Java has several exceptions for that
        }
    }

    /** Returns the fields after the name, from the state on. */
    private static String[] fields(String stat) {
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    }
}
