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

    /**
     * The observations in which an environment was present or absent, in ticks.
     *
     * @param youngerThan the last observation before it appeared, or before all its pids were replaced; null if there is none
     * @param absentAt the last observation in which it was absent; null if there is none
     * @param presentAt the first observation in which it was present; null before that
     * @param appearedAt the same since its last absence, even if the same pids returned, because another user may have written the
     *     entry
     */
    public record Presence(
            @Nullable Long youngerThan,
            @Nullable Long absentAt,
            @Nullable Long presentAt,
            @Nullable Long appearedAt) {
        /** It was never observed. */
        static final Presence NONE = new Presence(null, null, null, null);

        /**
         * Returns the presence after another observation.
         *
         * @param isOther whether it is another environment than before
         * @param wasAbsent whether the previous observation did not find it
         * @param before the ticks of the previous observation; null in the first one
         */
        Presence observed(boolean isOther, boolean wasAbsent, @Nullable Long before, long ticks) {
            return new Presence(
                    isOther || wasAbsent ? before : youngerThan,
                    appearedAt == null || wasAbsent ? before : absentAt,
                    isOther ? Long.valueOf(ticks) : presentAt,
                    isOther || wasAbsent ? Long.valueOf(ticks) : appearedAt);
        }
    }
}
