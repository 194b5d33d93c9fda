package dev.genv.enforcer.format.linux;

import java.io.IOException;
import java.util.Optional;

/**
 * The content of {@code /proc/PID/stat} (see proc_pid_stat(5)).
 *
 * @param command the short name
 * @param flags the kernel's flags of the task (field 9)
 * @param threads the number of threads (field 20)
 * @param startTime in clock ticks since boot (field 22)
 * @param environmentEnd the end address of its environment (field 51); 0 if it has none: it is exiting, it is in execve, or it is a
 *     kernel thread
 */
public record ProcStat(String command, char state, long flags, long threads, long startTime, long environmentEnd) {
    private static final int KERNEL_THREAD = 0x0020_0000;
    // Fields are numbered from 1, and the first two are removed before the rest is split.
    private static final int CUT = 3;

    public static ProcStat parse(String text) throws IOException {
        // The name is in parentheses and may contain any character, spaces and parentheses included.
        var open = text.indexOf('(');
        var close = text.lastIndexOf(')');
        if (open < 0 || close < open) {
            throw new IOException("stat has no name");
        }
        var fields = text.substring(close + 1).strip().split(" ", -1);
        try {
            return new ProcStat(
                    text.substring(open + 1, close),
                    fields[3 - CUT].charAt(0),
                    Long.parseLong(fields[9 - CUT]),
                    Long.parseLong(fields[20 - CUT]),
                    Long.parseLong(fields[22 - CUT]),
                    Long.parseUnsignedLong(fields[51 - CUT]));
        } catch (ArrayIndexOutOfBoundsException | StringIndexOutOfBoundsException | NumberFormatException e) {
            throw new IOException("stat has an unknown form", e);
        }
    }

    /** Returns the stat; empty if the text has an unknown form. */
    public static Optional<ProcStat> tryParse(String text) {
        try {
            return Optional.of(parse(text));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /**
     * Whether it has exited and its parent has not yet collected it. A process whose first thread has exited while others run is alive.
     */
    public boolean isZombie() {
        return hasEnded() && threads <= 1;
    }

    /** Whether this thread has exited; the environ must then be read from another thread. */
    public boolean hasEnded() {
        return state == 'Z' || state == 'X' || state == 'x';
    }

    public boolean isKernelThread() {
        return (flags & KERNEL_THREAD) != 0;
    }
}
