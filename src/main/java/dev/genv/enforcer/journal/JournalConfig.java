package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.saved.SavedKind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The configuration of the journal.
 *
 * @param directory where its files are
 * @param maxBytes the size above which the oldest segments are deleted
 * @param maxAge the age above which the oldest segments are deleted
 * @param processes identifies the processes that pids and start times refer to, such as the boot of the node. If it is another one
 *     than in the earlier run, or empty, nothing that concerns processes is restored
 * @param kinds the kinds of entries that are saved
 */
public record JournalConfig(
        Path directory, long maxBytes, Duration maxAge, String processes, List<SavedKind<?, ?>> kinds) {
    /** A journal consists of about this number of segments. */
    private static final int SEGMENTS = 8;

    private static final long MIN_SEGMENT = 64 << 10;

    /** The size above which a new segment begins, without what it repeats at its beginning. */
    long segmentBytes() {
        return Math.max(MIN_SEGMENT, maxBytes / SEGMENTS);
    }

    /** The age above which a new segment begins. */
    Duration segmentAge() {
        return maxAge.dividedBy(SEGMENTS);
    }
}
