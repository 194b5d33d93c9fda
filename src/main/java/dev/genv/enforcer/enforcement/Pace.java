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
    private static final Duration AT_ONCE = Duration.ofMillis(1);
    private static final Duration LATE = Duration.ofSeconds(2);

    /** Up to which part of the interval a cycle is begun later than the scheduler says. */
    private static final int DELAYED_BY = 5;

    /**
     * How long to wait before a cycle that is due. So the past cycles do not tell exactly when the next one observes a
     * process.
     *
     * @param random chosen anew each time, from 0 to less than 1
     */
    public Duration delay(double random) {
        return Duration.ofNanos((long) (interval.dividedBy(DELAYED_BY).toNanos() * random));
    }

    /** How long it is until the next cycle, this long after the last one. */
    public Duration untilNext(Duration sinceLatest) {
        var left = interval.minus(sinceLatest);
        return left.compareTo(AT_ONCE) > 0 ? left : AT_ONCE;
    }

    /** Whether a cycle should have begun by now: a scheduler that ticks once a second may be a second late. */
    public boolean isOverdue(Duration sinceLatest) {
        return sinceLatest.compareTo(
                        interval.plus(interval.dividedBy(DELAYED_BY)).plus(LATE))
                > 0;
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
