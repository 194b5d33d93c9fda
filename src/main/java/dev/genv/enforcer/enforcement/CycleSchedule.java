package dev.genv.enforcer.enforcement;

import java.time.Duration;

/**
 * The schedule of the cycles.
 *
 * @param interval the time from the start of one cycle to the start of the next
 * @param longest the time limit of a cycle
 */
public record CycleSchedule(Duration interval, Duration longest) {
    private static final int INTERVALS = 3;
    private static final Duration TOLERANCE = Duration.ofSeconds(2);

    /** The largest random delay of a cycle, as a share of the interval. */
    private static final int DELAY_DIVISOR = 5;

    /**
     * Returns the random delay of a cycle that is due, so that earlier cycles do not reveal when the next one observes processes. The random
     * number is new for each cycle, from 0 to less than 1.
     */
    public Duration delay(double random) {
        return Duration.ofNanos((long) (interval.dividedBy(DELAY_DIVISOR).toNanos() * random));
    }

    /** Whether a cycle should have started by now. The scheduler ticks once a second, so it may be a second late. */
    public boolean isOverdue(Duration sinceLatest) {
        return sinceLatest.compareTo(
                        interval.plus(interval.dividedBy(DELAY_DIVISOR)).plus(TOLERANCE))
                > 0;
    }

    /** Whether the observation of the last cycle is too old to be valid. */
    public boolean isStale(Duration sinceLatest) {
        return sinceLatest.compareTo(interval.multipliedBy(INTERVALS)) > 0;
    }

    /** Whether no cycle has ended for so long that only a restart helps. */
    public boolean isStalled(Duration sinceLatest) {
        return sinceLatest.compareTo(stallLimit()) > 0;
    }

    /** The longest time without the end of a cycle while cycles are only slow. */
    public Duration stallLimit() {
        return interval.multipliedBy(INTERVALS).plus(longest);
    }
}
