package dev.genv.enforcer.enforcement;

import java.time.Duration;

/**
 * How often cycles are to come.
 *
 * @param interval from the beginning of one to that of the next
 * @param longest how long one may take before its hosts are given up
 */
public record Pace(Duration interval, Duration longest) {
    private static final int INTERVALS = 3;
    private static final Duration LATE = Duration.ofSeconds(2);

    /** Whether a cycle should have begun by now: a scheduler that ticks once a second may be a second late. */
    public boolean isOverdue(Duration sinceLatest) {
        return sinceLatest.compareTo(interval.plus(LATE)) > 0;
    }

    /** Whether what the last cycle saw is too old to rely on. */
    public boolean isStale(Duration sinceLatest) {
        return sinceLatest.compareTo(interval.multipliedBy(INTERVALS)) > 0;
    }

    /** Whether the cycles have come to a standstill, which only a restart can mend. */
    public boolean isStalled(Duration sinceLatest) {
        return sinceLatest.compareTo(interval.multipliedBy(INTERVALS).plus(longest)) > 0;
    }
}
