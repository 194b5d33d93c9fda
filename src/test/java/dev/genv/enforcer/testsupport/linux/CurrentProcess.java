package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The user who runs the tests, and the user's privileges. */
public final class CurrentProcess {
    private static final long CAP_DAC_READ_SEARCH = 1L << 1 | 1L << 2;
    private static final long CAP_KILL = 1L << 5;
    private static final long CAP_SYS_PTRACE = 1L << 19;

    private CurrentProcess() {}

    public static long uid() throws IOException {
        return Integer.toUnsignedLong((int) Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    }

    public static boolean isRoot() throws IOException {
        return uid() == 0;
    }

    /** Returns the id of a thread, which is not the pid of any process. */
    public static int otherThread() throws IOException {
        var pid = (int) ProcessHandle.current().pid();
        try (var threads = Files.list(Path.of("/proc/self/task"))) {
            return threads.mapToInt(thread -> Integer.parseInt(String.valueOf(thread.getFileName())))
                    .filter(thread -> thread != pid)
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Returns the user's name in this machine's passwd; the service disputes any other name. */
    public static String name() {
        return System.getProperty("user.name");
    }

    /** Whether the tests may read and signal the processes of other users, as the service must. */
    public static boolean hasRequiredCapabilities() throws IOException {
        var capabilities = capabilities();
        return (capabilities & CAP_KILL) != 0
                && (capabilities & CAP_SYS_PTRACE) != 0
                && (capabilities & CAP_DAC_READ_SEARCH) != 0;
    }

    private static long capabilities() throws IOException {
        var line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(status -> status.startsWith("CapEff:"))
                .findFirst()
                .orElseThrow();
        return Long.parseUnsignedLong(line.substring("CapEff:".length()).strip(), 16);
    }
}
