package dev.genv.enforcer.journal;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Deque;
import java.util.stream.Stream;

/**
 * How much is kept.
 *
 * @param maxBytes the size above which the oldest segments are deleted
 * @param maxAge the age above which the oldest segments are deleted
 */
public record SegmentLimits(long maxBytes, Duration maxAge) {
    /** There are about this number of segments. */
    private static final int SEGMENTS = 8;

    private static final long MIN_SEGMENT = 64 << 10;

    /** Returns the limits for one of two kinds of segments. */
    public SegmentLimits half() {
        return new SegmentLimits(maxBytes / 2, maxAge);
    }

    /** The size above which a new segment begins, without what it repeats at its beginning. */
    public long segmentBytes() {
        return Math.max(MIN_SEGMENT, maxBytes / SEGMENTS);
    }

    /** The age above which a new segment begins. */
    public Duration segmentAge() {
        return maxAge.dividedBy(SEGMENTS);
    }

    /**
     * Deletes the segments above the limits. A segment is as old as the one after it, because it ends where that one begins.
     *
     * @param segments the last one has just begun
     * @param begun when it began, by the wall clock
     */
    public void removeOld(Deque<Segment> segments, JournalDirectory directory, Instant begun) throws IOException {
        var now = earlierBegin(segments, begun);
        var bytes = segments.stream().mapToLong(Segment::bytes).sum();
        // The newest segment grows up to its own limit.
        var limit = maxBytes - segmentBytes();
        while (segments.size() > 1) {
            var oldest = segments.removeFirst();
            var ended = segments.getFirst().begun();
            var isOld = ended != null && Duration.between(ended, now).compareTo(maxAge) > 0;
            if (bytes <= limit && !isOld) {
                segments.addFirst(oldest);
                return;
            }
            directory.remove(oldest);
            bytes -= oldest.bytes();
        }
    }

    /** Returns the earlier begin of the last two segments, so that a clock that is ahead for a moment deletes nothing. */
    private static Instant earlierBegin(Deque<Segment> segments, Instant last) {
        return segments.stream()
                .skip(Math.max(0, segments.size() - 2L))
                .flatMap(segment -> Stream.ofNullable(segment.begun()))
                .filter(begun -> begun.isBefore(last))
                .findFirst()
                .orElse(last);
    }
}
