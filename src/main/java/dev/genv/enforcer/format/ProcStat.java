package dev.genv.enforcer.format;

import java.io.IOException;

/**
 * What {@code /proc/PID/stat} tells (see proc_pid_stat(5)).
 *
 * @param command the short name
 * @param flags the kernel's flags of the task (field 9)
 * @param threads how many it has (field 20)
 * @param startTime in clock ticks since boot (field 22)
 * @param environmentEnd the address where its environment ends (field 51); 0 while it has none: it ends, it is just being
 *     executed, or it is the kernel's
 */
public record ProcStat(String command, char state, long flags, long threads, long startTime, long environmentEnd) {
    private static final int KERNEL_THREAD = 0x0020_0000;
    // The fields are numbered from 1 and the first two are cut off before the rest is split.
    private static final int CUT = 3;

    public static ProcStat parse(String text) throws IOException {
        // The name stands in parentheses and may hold anything, also blanks and parentheses.
        var open = text.indexOf('(');
        var close = text.lastIndexOf(')');
        if (open < 0 || close < open) {
            throw new IOException("stat has no name in it");
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
            throw new IOException("stat has a form that is not known", e);
        }
    }

    /**
     * Whether it has ended and only waits for its parent to notice. One whose first thread has ended while others run is
     * very much alive.
     */
    public boolean isZombie() {
        return hasEnded() && threads <= 1;
    }

    /** Whether this thread has; what belongs to it, the environment too, must then be asked of another one. */
    public boolean hasEnded() {
        return state == 'Z' || state == 'X' || state == 'x';
    }

    public boolean isKernelThread() {
        return (flags & KERNEL_THREAD) != 0;
    }
}
