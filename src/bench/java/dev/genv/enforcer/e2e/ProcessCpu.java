package dev.genv.enforcer.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The CPU time of a process so far.
 *
 * @param own of the process with all threads, in clock ticks
 * @param children of its child processes that have exited, in clock ticks
 */
record ProcessCpu(long own, long children) {
    /** USER_HZ is 100 on every architecture that JDK 25 supports (proc_pid_stat(5)). */
    static final double TICKS_PER_MILLISECOND = 0.1;

    private static final ProcessCpu NONE = new ProcessCpu(0, 0);
    // Fields of proc_pid_stat(5), counted from the one after the name.
    private static final int UTIME = 11;
    private static final int STIME = 12;
    private static final int CUTIME = 13;
    private static final int CSTIME = 14;

    /** Returns the times of a process; none if it has exited, because then they count in its parent. */
    static ProcessCpu of(long pid) {
        try {
            var stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            var fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            return new ProcessCpu(
                    Long.parseLong(fields[UTIME]) + Long.parseLong(fields[STIME]),
                    Long.parseLong(fields[CUTIME]) + Long.parseLong(fields[CSTIME]));
        } catch (IOException e) {
            return NONE;
        }
    }

    long all() {
        return own + children;
    }

    ProcessCpu minus(ProcessCpu before) {
        return new ProcessCpu(own - before.own, children - before.children);
    }
}
