package dev.genv.enforcer.journal;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A file of the journal.
 *
 * @param number its position among all segments
 * @param bytes its size
 * @param begun when it was begun, by the wall clock; null if that is unknown
 */
public record Segment(long number, long bytes, @Nullable Instant begun) {
    /** Returns the segment with another size. */
    public Segment with(long otherBytes) {
        return new Segment(number, otherBytes, begun);
    }

    /** Returns the segment with another begin. */
    public Segment begunAt(@Nullable Instant at) {
        return new Segment(number, bytes, at);
    }
}
