package dev.genv.enforcer.linux;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The content of {@code /proc/PID/stat}, see proc_pid_stat(5).
 *
 * @param command the short name
 * @param flags field 9
 * @param threads their number (field 20)
 * @param startTime in clock ticks since boot (field 22)
 * @param relations fields 4 and 6
 * @param addresses fields 48 to 51; null if the kernel shows zeros instead
 */
public record ProcStat(
        String command,
        char state,
        long flags,
        long threads,
        long startTime,
        Relations relations,
        @Nullable Addresses addresses) {
    private static final int KERNEL_THREAD = 0x0020_0000;
    // Fields are numbered from 1; the third is the first one after the name.
    private static final int CUT = 3;
    private static final Pattern SEPARATOR = Pattern.compile("[ \n]");

    /** Its parent, and the process that began its session, by their pids. */
    public record Relations(int parent, int session) {}

    /**
     * Where arguments and environment of a program are in its memory. The kernel shows zeros instead, without an error, if the reader may not
     * trace the process (PTRACE_MODE_READ of ptrace(2)), if it is exiting or in execve, if this thread has exited, or for a kernel thread. A
     * process cannot set them to 0.
     */
    public record Addresses(long argumentsBegin, long argumentsEnd, long environmentBegin, long environmentEnd) {
        /** Whether an environment of this size is where execve(2) wrote it: directly after the arguments. */
        boolean areOfExecve(long size) {
            return environmentBegin == argumentsEnd && environmentEnd - environmentBegin == size;
        }
    }

    public static ProcStat parse(String text) throws IOException {
        // The name is in parentheses and may contain any character, spaces and parentheses included.
        var open = text.indexOf('(');
        var close = text.lastIndexOf(')');
        if (open < 0 || close < open) {
            throw new IOException("stat has an unknown form");
        }
        try {
            var fields = SEPARATOR.split(text.substring(close + 2), 0);
            return new ProcStat(
                    text.substring(open + 1, close),
                    text.charAt(close + 2),
                    Long.parseLong(fields[9 - CUT]),
                    Long.parseLong(fields[20 - CUT]),
                    Long.parseLong(fields[22 - CUT]),
                    new Relations(Integer.parseInt(fields[4 - CUT]), Integer.parseInt(fields[6 - CUT])),
                    addresses(fields));
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw new IOException("stat has an unknown form", e);
        }
    }

    /**
     * Whether an environ of this size is where execve(2) wrote it; not if that is unknown.
     *
     * @param after the stat after the environ was read
     */
    public boolean isEnvironInPlace(ProcStat after, long size) {
        return addresses != null && addresses.equals(after.addresses) && addresses.areOfExecve(size);
    }

    private static @Nullable Addresses addresses(String[] fields) {
        var found = new Addresses(
                Long.parseUnsignedLong(fields[48 - CUT]),
                Long.parseUnsignedLong(fields[49 - CUT]),
                Long.parseUnsignedLong(fields[50 - CUT]),
                Long.parseUnsignedLong(fields[51 - CUT]));
        return found.environmentEnd == 0 ? null : found; // execve(2) writes it last
    }

    /** Empty if the text has an unknown form. */
    public static Optional<ProcStat> tryParse(String text) {
        try {
            return Optional.of(parse(text));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** A process whose first thread has exited while others run is alive. */
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

    /** Finds fields in {@code /proc/PID/status}, see proc_pid_status(5). The kernel escapes line breaks in the name of the program. */
    public static final class ProcStatus {
        /** The result for a field that is missing or has another form. */
        public static final long NONE = -1;

        // Lines end only with a line feed (flag d): a name can contain a carriage return.
        private static final Pattern REAL_UID = Pattern.compile("(?dm)^Uid:[\t ]*([0-9]{1,10})[\t \n]");
        private static final Pattern NAMESPACE_PIDS =
                Pattern.compile("(?dm)^NSpid:[\t ]*([0-9]+(?:[\t ]+[0-9]+)*)[\t ]*$");

        private ProcStatus() {}

        public static long realUid(byte[] status) {
            return number(REAL_UID, status);
        }

        /** Returns the pids in the PID namespaces, the innermost one last; empty if the field is missing or has another form. */
        public static Optional<String> namespacePids(byte[] status) {
            var match = NAMESPACE_PIDS.matcher(new String(status, StandardCharsets.UTF_8));
            return match.find() ? Optional.of(match.group(1)) : Optional.empty();
        }

        private static long number(Pattern field, byte[] status) {
            var match = field.matcher(new String(status, StandardCharsets.ISO_8859_1));
            return match.find() ? Long.parseLong(match.group(1)) : NONE;
        }
    }
}
