package dev.genv.enforcer.enforcement.history.state;

import java.time.Instant;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is saved of an environment. Moments are marks of the clock that counts towards an action, ticks are the kernel's.
 *
 * @param label the text by which reports name it, escaped
 * @param attachments its devices
 */
public record SavedEnvironment(
        String label,
        Map<Integer, AttachmentHistory.Saved> attachments,
        OwnerHistory.Saved owner,
        CapacityHistory.Saved capacity,
        @Nullable Instant died,
        @Nullable Long diedAt,
        Presence presence,
        Set<Integer> pids,
        @Nullable Long shellStart,
        Set<Long> uids,
        Set<Long> latestUids,
        @Nullable Long recordedUid) {
    /** Identifies an environment of a host by its id, which is shortened. */
    public record Key(String host, String eid) {}

    /** The observations in which it was present or absent, in ticks. */
    public record Presence(
            @Nullable Long youngerThan,
            @Nullable Long absentAt,
            @Nullable Long presentAt,
            @Nullable Long appearedAt) {}
}
