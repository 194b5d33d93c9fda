package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.Environ;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.Membership;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What was read out of the memory of a process, each part by the word that stood in front of it. It breaks off where the
 * process did not answer.
 */
record EnvironReading(Map<String, Section> parts, String nonce) {
    static final Membership SILENT = new Membership.Unknown("its environ does not answer");
    private static final Membership UNREAD = new Membership.Unknown("its environ cannot be read");
    private static final Membership UNSEEN = new Membership.Unknown("its environ is not available at this moment");
    static final Program UNKNOWN_PROGRAM = new Program(false, "");
    private static final String VARIABLE = "GENV_ENVIRONMENT_ID=";
    /** Of as much as is taken from the end, what ours does not need. */
    private static final int MOST = 8400 - VARIABLE.length() - 34;

    /** By pid; of several of one process the last one that came to its end counts. */
    static Map<Integer, EnvironReading> in(Iterable<Frame> frames, String nonce) throws UnreachableException {
        var all = new HashMap<Integer, EnvironReading>();
        for (var frame : frames) {
            var here = new HashMap<Integer, EnvironReading>();
            for (var mark : Section.in(frame.stream(), nonce)) {
                here.computeIfAbsent(mark.pid(), _ -> new EnvironReading(new HashMap<>(), nonce))
                        .parts
                        .put(mark.word(), mark);
            }
            here.forEach((pid, one) -> all.merge(pid, one, (former, later) -> later.isWhole() ? later : former));
        }
        return all;
    }

    boolean isWhole() {
        return parts.containsKey("read");
    }

    /** Whether its environment was read to the end, or could not be. */
    boolean hasAnswered() {
        return parts.containsKey("after");
    }

    /** What the process says of itself. */
    Membership membership() {
        if (!hasAnswered()) {
            return SILENT;
        }
        if (parts.containsKey("denied")) {
            return Membership.NOT_PERMITTED;
        }
        var records = records(content("environ"), nonce);
        if (records.isEmpty()) {
            return UNREAD;
        }
        // The kernel shows an empty environ while a process exits or is in execve; this is no answer.
        return stands() ? membership(records.get()) : UNSEEN;
    }

    /** All that was read of its environment; nothing where that is not whole. */
    Optional<String> records() {
        return records(content("environ"), nonce);
    }

    /** The same, of what was read anywhere: ours at its end, which shows that it is whole, is not part of it. */
    static Optional<String> records(String text, String nonce) {
        return ("\0" + text).endsWith("\0" + end(nonce))
                ? Optional.of(text.substring(0, text.length() - end(nonce).length()))
                : Optional.empty();
    }

    /** What stands behind all that is read. */
    static String end(String nonce) {
        return VARIABLE + "@" + nonce + "\0";
    }

    /** What these entries say, of which the last one counts. */
    static Membership membership(String records) {
        // One that is too long has lost its beginning.
        var last = records.lastIndexOf('\0', records.length() - 2) + 1;
        var cut = last == 0 && records.length() >= MOST && !records.startsWith(VARIABLE);
        return Environ.membership((cut ? VARIABLE + records : records).getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Whether what was read was all the time of one and the same program. */
    private boolean stands() {
        var before = stat("before");
        var after = stat("after");
        return before.isPresent()
                && after.isPresent()
                && !before.get().hasEnded()
                && !after.get().hasEnded()
                && before.get().environmentEnd() != 0
                && before.get().environmentEnd() == after.get().environmentEnd()
                && before.get().startTime() == after.get().startTime();
    }

    /** What is known of the program that it runs. */
    Program program() {
        var name = parts.get("name");
        var exe = parts.get("exe");
        if (exe != null && exe.word(1).contains(":")) {
            return new Program(true, exe.word(1));
        }
        // A file that may not be looked at, or does not answer, is none of those that just did.
        return new Program(name != null && name.word(1).equals("yes"), "");
    }

    /**
     * A program.
     *
     * @param known whether it can be told from others
     * @param file what tells it from every other file; empty where it is none of those that are asked for
     */
    record Program(boolean known, String file) {}

    private Optional<ProcStat> stat(String word) {
        return Stats.parse(content(word));
    }

    private String content(String word) {
        var mark = parts.get(word);
        return mark == null ? "" : mark.content();
    }
}
