package dev.genv.enforcer.notification;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * The time from a failed attempt to the next one: it doubles from the shortest to the longest. Up to a fifth is added at random, or
 * subtracted near the longest, so that many nodes do not call a receiver at the same time.
 *
 * @param shortest after the first failure
 * @param longest the result is never longer
 */
public record RetryDelay(Duration shortest, Duration longest, RandomGenerator random) {
    private static final int MOST_DOUBLINGS = 30;
    private static final double JITTER = 0.2;

    /** Returns the delay after this number of failures in a row, at least one. */
    public Duration after(int failures) {
        var doubled = shortest.multipliedBy(1L << Math.min(failures - 1, MOST_DOUBLINGS));
        var base = doubled.compareTo(longest) > 0 ? longest : doubled;
        var extra = Duration.ofNanos((long) (base.toNanos() * JITTER * random.nextDouble()));
        var longer = base.plus(extra);
        return longer.compareTo(longest) > 0 ? base.minus(extra) : longer;
    }
}
