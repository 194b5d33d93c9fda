package dev.genv.enforcer.journal;

import java.time.Instant;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A file of the journal.
 *
 * @param number its position among all segments
 * @param bytes its size
 * @param begun when it was begun, by the wall clock; null if that is unknown
 */
record Segment(long number, long bytes, @Nullable Instant begun) {
    private static final Pattern NAME = Pattern.compile("journal-([0-9]{10})\\.jsonl");

    /** Returns the number in the name of a segment; empty for other names. */
    static Optional<Long> number(String name) {
        var match = NAME.matcher(name);
        return match.matches() ? Optional.of(Long.valueOf(match.group(1))) : Optional.empty();
    }

    static String name(long number) {
        return "journal-%010d.jsonl".formatted(number);
    }

    String name() {
        return name(number);
    }

    Segment with(long otherBytes) {
        return new Segment(number, otherBytes, begun);
    }

    Segment begunAt(@Nullable Instant at) {
        return new Segment(number, bytes, at);
    }
}
