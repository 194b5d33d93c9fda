package dev.genv.enforcer.facts;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What came of taking genv's lock.
 *
 * @param reason a clause such as {@code is not a regular file}; empty unless it is unusable
 * @param limit the time limit of the wait
 * @param waited how long the observation waited for it; null if it did not, or if that is unknown
 * @param holders the processes that {@code /proc/locks} shows as its holders; null if that cannot be read
 */
public record LockFacts(
        Outcome outcome,
        String reason,
        Duration limit,
        @Nullable Duration waited,
        @Nullable List<Holder> holders) {
    public static final LockFacts NOT_ATTEMPTED =
            new LockFacts(Outcome.NOT_ATTEMPTED, "", Duration.ZERO, null, List.of());

    /** Returns the facts with the time that an earlier reading waited added to the time of this one. */
    LockFacts after(LockFacts earlier) {
        return waited == null || earlier.waited == null
                ? this
                : new LockFacts(outcome, reason, limit, waited.plus(earlier.waited), holders);
    }

    /** What came of it. */
    public enum Outcome {
        /** It was held while the files were read, or there is no lock file and it was free. */
        HELD,
        /** Another program held it for longer than the limit. */
        TIMEOUT,
        UNUSABLE,
        NOT_ATTEMPTED
    }

    /**
     * A process that holds the lock.
     *
     * @param pid 0 or negative for a process of another PID namespace
     * @param stat the content of {@code /proc/PID/stat}; null if there is no such process
     * @param uid its real uid; null if there is no such process
     */
    public record Holder(
            int pid, @Nullable Bytes stat, @Nullable Long uid) {}
}
