package dev.genv.enforcer.linux;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Finds fields in {@code /proc/PID/status} (see proc_pid_status(5)). The kernel escapes line breaks in the name of the program. */
public final class ProcStatus {
    /** The result for a field that is missing or has another form. */
    public static final long NONE = -1;

    // Lines end only with a line feed (flag d): a name can contain a carriage return.
    private static final Pattern REAL_UID = Pattern.compile("(?dm)^Uid:[\t ]*([0-9]{1,10})[\t \n]");
    private static final Pattern PROCESS_ID = Pattern.compile("(?dm)^Tgid:[\t ]*([0-9]{1,10})[\t \n]");
    private static final Pattern NAMESPACE_PIDS = Pattern.compile("(?dm)^NSpid:\\s+([0-9\\s]+?)\\s*$");

    private ProcStatus() {}

    /** Returns the real uid; {@link #NONE} if there is none. */
    public static long realUid(byte[] status) {
        return number(REAL_UID, status);
    }

    /** Returns the id of the process, also in the status of one of its threads; {@link #NONE} if there is none. */
    public static long processId(byte[] status) {
        return number(PROCESS_ID, status);
    }

    /** Returns the pids in the PID namespaces, the innermost one last; empty if there are none. */
    public static String namespacePids(byte[] status) {
        var match = NAMESPACE_PIDS.matcher(new String(status, StandardCharsets.UTF_8));
        return match.find() ? match.group(1) : "";
    }

    private static long number(Pattern field, byte[] status) {
        var match = field.matcher(new String(status, StandardCharsets.ISO_8859_1));
        return match.find() ? Long.parseLong(match.group(1)) : NONE;
    }
}
