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

    /** The largest random delay of a cycle, as a share of the interval. */
    private static final int DELAY_DIVISOR = 5;

    /**
     * Returns the time until the next cycle. It is due when the next interval since the first cycle begins, so an interval in which a cycle
     * still runs has none. It starts after a random delay, so that earlier cycles do not reveal when the next one observes processes.
     *
     * @param random new for each cycle, from 0 to less than 1
     */
    public Duration untilNext(Duration sinceFirst, double random) {
        var due = interval.multipliedBy(sinceFirst.dividedBy(interval) + 1);
        var delay = (long) (interval.dividedBy(DELAY_DIVISOR).toNanos() * random);
        return due.minus(sinceFirst).plusNanos(delay);
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
