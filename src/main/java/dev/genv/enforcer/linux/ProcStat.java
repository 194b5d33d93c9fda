package dev.genv.enforcer.linux;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The content of {@code /proc/PID/stat}, see proc_pid_stat(5).
 *
 * @param command the short name
 * @param flags field 9
 * @param threads their number (field 20)
 * @param startTime in clock ticks since boot (field 22)
 * @param relations fields 4 and 6
 * @param addresses fields 45 to 51; null if the kernel shows zeros instead
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

    /** Its parent, and the process that began its session, by their pids. */
    public record Relations(int parent, int session) {}

    /**
     * Where a program is in its memory: its initialized data, its heap, its arguments and its environment. The kernel shows zeros instead, without
     * an error, if the reader may not trace the process (PTRACE_MODE_READ of ptrace(2)), if it is exiting or in execve, if this thread has exited,
     * or for a kernel thread. A process cannot set them to 0.
     */
    public record Addresses(
            long dataBegin,
            long dataEnd,
            long heapBegin,
            long argumentsBegin,
            long argumentsEnd,
            long environmentBegin,
            long environmentEnd) {
        /** Whether an environment of this size is where execve(2) wrote it: directly after the arguments. */
        boolean areOfExecve(long size) {
            return environmentBegin == argumentsEnd && environmentEnd - environmentBegin == size;
        }
    }

    public static ProcStat parse(byte[] stat) throws IOException {
        // The name is in parentheses and may contain any character, spaces and parentheses included.
        var open = 0;
        while (open < stat.length && stat[open] != '(') {
            open++;
        }
        var close = stat.length - 1;
        while (close > open && stat[close] != ')') {
            close--;
        }
        if (close <= open || close + 2 >= stat.length) {
            throw Fields.unknownForm();
        }
        var fields = new Fields(stat, close + 2);
        var command = new String(stat, open + 1, close - open - 1, StandardCharsets.UTF_8);
        var relations = new Relations((int) fields.number(4), (int) fields.number(6));
        return new ProcStat(
                command,
                (char) stat[close + 2],
                fields.number(9),
                fields.number(20),
                fields.number(22),
                relations,
                addresses(fields));
    }

    private static @Nullable Addresses addresses(Fields fields) throws IOException {
        var found = new Addresses(
                fields.number(45),
                fields.number(46),
                fields.number(47),
                fields.number(48),
                fields.number(49),
                fields.number(50),
                fields.number(51));
        return found.environmentEnd == 0 ? null : found; // execve(2) writes it last
    }

    /** The fields after the name, which are read once and in their order. */
    private static final class Fields {
        private static final int MOST_DIGITS = 18;

        private final byte[] stat;
        private int at;
        /** The number of the field that begins here, from 1 on as in proc_pid_stat(5); the third is the first one after the name. */
        private int field = 3;

        Fields(byte[] stat, int start) {
            this.stat = stat;
            at = start;
        }

        static IOException unknownForm() {
            return new IOException("stat has an unknown form");
        }

        long number(int wanted) throws IOException {
            for (; field < wanted; field++) {
                while (at < stat.length && stat[at] != ' ') {
                    at++;
                }
                at++;
            }
            var isNegative = at < stat.length && stat[at] == '-';
            var start = isNegative ? at + 1 : at;
            var end = start;
            var number = 0L;
            while (end < stat.length && stat[end] >= '0' && stat[end] <= '9') {
                number = 10 * number + stat[end++] - '0';
            }
            var isWhole = end < stat.length && (stat[end] == ' ' || stat[end] == '\n');
            if (!isWhole || end == start || end - start > MOST_DIGITS) {
                throw unknownForm();
            }
            return isNegative ? -number : number;
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

    /** Empty if the bytes have an unknown form. */
    public static Optional<ProcStat> tryParse(byte[] stat) {
        try {
            return Optional.of(parse(stat));
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

        private static final byte[] UID = "Uid:".getBytes(StandardCharsets.US_ASCII);

        private static final byte[] PROCESS = "Tgid:".getBytes(StandardCharsets.US_ASCII);
        private static final byte[] THREAD = "Pid:".getBytes(StandardCharsets.US_ASCII);
        private static final byte[] NAMESPACE_PIDS = "NSpid:".getBytes(StandardCharsets.US_ASCII);
        private static final int MOST_DIGITS = 10;

        private ProcStatus() {}

        public static long realUid(byte[] status) {
            return realUid(status, status.length);
        }

        /** The same of the first bytes. */
        public static long realUid(byte[] status, int size) {
            return number(status, size, UID);
        }

        /** Whether it is that of a process, and not that of one of its other threads. */
        public static boolean isOfProcess(byte[] status) {
            return number(status, status.length, PROCESS) == number(status, status.length, THREAD);
        }

        private static long number(byte[] status, int size, byte[] field) {
            var start = value(status, size, field);
            var end = start;
            var number = 0L;
            while (end < size && isDigit(status[end])) {
                number = 10 * number + status[end++] - '0';
            }
            var isWhole = end < size && (isBlank(status[end]) || status[end] == '\n');
            return isWhole && end > start && end - start <= MOST_DIGITS ? number : NONE;
        }

        /** Returns the pids in the PID namespaces, the innermost one last; empty if the field is missing or has another form. */
        public static Optional<String> namespacePids(byte[] status) {
            var start = value(status, status.length, NAMESPACE_PIDS);
            var end = start;
            while (end < status.length && (isDigit(status[end]) || isBlank(status[end]))) {
                end++;
            }
            var isWhole = end == status.length || status[end] == '\n';
            var pids = new String(status, start, end - start, StandardCharsets.US_ASCII).strip();
            return isWhole && !pids.isEmpty() ? Optional.of(pids) : Optional.empty();
        }

        /** Returns where the value of a field begins; the end of the file if there is no such field. Lines end only with a line feed. */
        private static int value(byte[] status, int size, byte[] field) {
            for (int start = 0, end; start < size; start = end + 1) {
                end = start;
                while (end < size && status[end] != '\n') {
                    end++;
                }
                if (end - start >= field.length
                        && Arrays.equals(status, start, start + field.length, field, 0, field.length)) {
                    start += field.length;
                    while (start < end && isBlank(status[start])) {
                        start++;
                    }
                    return start;
                }
            }
            return size;
        }

        private static boolean isDigit(byte character) {
            return character >= '0' && character <= '9';
        }

        private static boolean isBlank(byte character) {
            return character == ' ' || character == '\t';
        }
    }
}
