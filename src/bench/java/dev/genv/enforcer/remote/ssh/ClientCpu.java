package dev.genv.enforcer.remote.ssh;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The CPU time of this JVM but for that of its compilers, which have done all they ever do some minutes after a start that
 * a service does once in months.
 */
final class ClientCpu {
    /** USER_HZ, which is 100 on every architecture that there is a JDK 25 for (see proc_pid_stat(5)). */
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

    /** The CPU time of all programs that this JVM has run and that have ended. */
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
            return 0; // it has ended, which Java has more than one exception for
        }
    }

    /** Those behind the name, from the state on. */
    private static String[] fields(String stat) {
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    }
}
