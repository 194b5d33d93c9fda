package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.time.Instant;

/**
 * How old the observation of a cycle is. The service may be stopped, or its machine suspended, between an observation and the
 * actions for it: then the processes may have changed what they do. The monotonic clock stands still while the machine is
 * suspended, and somebody may set the wall clock: the larger of both ages counts.
 */
final class ObservationAge {
    private static final int INTERVALS = 2;

    private final Ticker ticker;
    private final Duration interval;
    private final long begunAt;
    private final Instant begunWall;
    private volatile Duration longest;

    /**
     * An observation begins.
     *
     * @param interval from one cycle to the next; zero for a single one, whose observation is never too old
     * @param timeout how long hosts may take to be observed, which does not count
     */
    ObservationAge(Ticker ticker, Duration interval, Duration timeout) {
        this.ticker = ticker;
        this.interval = interval;
        begunAt = ticker.mark();
        begunWall = ticker.now();
        longest = timeout.plus(interval.multipliedBy(INTERVALS));
    }

    /** All hosts have answered, or are not waited for any longer. */
    void observed() {
        var whole = now().plus(interval.multipliedBy(INTERVALS));
        longest = whole.compareTo(longest) < 0 ? whole : longest;
    }

    /** Whether nothing may be done for it any more. */
    boolean isTooOld() {
        return !interval.isZero() && now().compareTo(longest) > 0;
    }

    private Duration now() {
        var monotonic = ticker.since(begunAt);
        var wall = Duration.between(begunWall, ticker.now());
        return monotonic.compareTo(wall) > 0 ? monotonic : wall;
    }
}
