package dev.genv.enforcer.linux;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Pattern;

/** Finds fields in {@code /proc/PID/status} (see proc_pid_status(5)). The kernel escapes line breaks in the name of the program. */
public final class ProcStatus {
    /** The largest number of digits of an id. */
    private static final int DIGITS = 10;

    /** The result for a field that is missing or has another form. */
    public static final long NONE = -1;

    private static final Pattern NAMESPACE_PIDS = Pattern.compile("^NSpid:\\s+([0-9\\s]+?)\\s*$", Pattern.MULTILINE);

    private ProcStatus() {}

    /** Returns the real uid; {@link #NONE} if there is none. */
    public static long realUid(byte[] status) {
        return firstNumber(status, "Uid:");
    }

    /** Returns the id of the process, also in the status of one of its threads; {@link #NONE} if there is none. */
    public static long processId(byte[] status) {
        return firstNumber(status, "Tgid:");
    }

    /** Returns the pids in the PID namespaces, the innermost one last; empty if there are none. */
    public static String namespacePids(byte[] status) {
        var match = NAMESPACE_PIDS.matcher(new String(status, StandardCharsets.UTF_8));
        return match.find() ? match.group(1) : "";
    }

    private static long firstNumber(byte[] status, String field) {
        var name = field.getBytes(StandardCharsets.US_ASCII);
        for (var line = 0; line >= 0 && line + name.length < status.length; line = nextLine(status, line)) {
            if (Arrays.equals(status, line, line + name.length, name, 0, name.length)) {
                return number(status, line + name.length);
            }
        }
        return NONE;
    }

    private static int nextLine(byte[] status, int from) {
        for (var i = from; i < status.length; i++) {
            if (status[i] == '\n') {
                return i + 1;
            }
        }
        return -1;
    }

    private static long number(byte[] status, int from) {
        var start = from;
        while (start < status.length && (status[start] == '\t' || status[start] == ' ')) {
            start++;
        }
        var number = 0L;
        var end = start;
        while (end < status.length && status[end] >= '0' && status[end] <= '9') {
            number = number * 10 + (status[end] - '0');
            end++;
            if (end - start > DIGITS) {
                return NONE;
            }
        }
        var isWhole = end < status.length && (status[end] == '\t' || status[end] == ' ' || status[end] == '\n');
        return end > start && isWhole ? number : NONE;
    }
}
