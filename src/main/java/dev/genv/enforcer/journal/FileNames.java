package dev.genv.enforcer.journal;

import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The names of the files of a journal: {@code journal-0000000001.jsonl}, {@code journal.lock} and {@code journal.tmp}.
 *
 * @param prefix with which all of them begin
 */
public record FileNames(String prefix) {
    /** The saved state and actions. Only the last segment matters. */
    public static final FileNames JOURNAL = new FileNames("journal");
    /** Events. They are in files of their own, so that users cannot displace them by the size of the state. */
    public static final FileNames EVENTS = new FileNames("events");
    /** The recorded observations. They are in files of their own, so that users cannot displace events by them. */
    public static final FileNames RECORDING = new FileNames("recording");

    private static final Pattern SEGMENT = Pattern.compile("([a-z]+)-([0-9]{10})\\.jsonl");

    String lock() {
        return prefix + ".lock";
    }

    String temporary() {
        return prefix + ".tmp";
    }

    /** Returns the name of a segment. */
    public String segment(long number) {
        return "%s-%010d.jsonl".formatted(prefix, number);
    }

    /** Returns the number in the name of a segment; empty for other names. */
    Optional<Long> number(String name) {
        var match = SEGMENT.matcher(name);
        return match.matches() && match.group(1).equals(prefix)
                ? Optional.of(Long.valueOf(match.group(2)))
                : Optional.empty();
    }
}
