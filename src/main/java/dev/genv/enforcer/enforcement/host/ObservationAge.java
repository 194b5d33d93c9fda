package dev.genv.enforcer.enforcement.host;

import java.time.Duration;
import java.time.Instant;

/**
 * The age of a cycle's observation. If the service is stopped or its machine is suspended between an observation and its actions, the
 * processes may have changed. The monotonic clock stops while the machine is suspended, and the wall clock may be set, so the larger
 * of both ages counts.
 */
public final class ObservationAge {
    private static final int INTERVALS = 2;

    private final Ticker ticker;
    private final Duration interval;
    private final long begunAt;
    private final Instant begunWall;
    private volatile Duration longest;

    /**
     * Begins an observation.
     *
     * @param interval from one cycle to the next; zero for a single cycle, whose observation is never too old
     * @param timeout the time limit for observing the hosts, which does not count
     */
    public ObservationAge(Ticker ticker, Duration interval, Duration timeout) {
        this.ticker = ticker;
        this.interval = interval;
        begunAt = ticker.mark();
        begunWall = ticker.now();
        longest = timeout.plus(interval.multipliedBy(INTERVALS));
    }

    /** Records that all hosts have answered or exceeded the time limit. */
    public void observed() {
        var whole = now().plus(interval.multipliedBy(INTERVALS));
        longest = whole.compareTo(longest) < 0 ? whole : longest;
    }

    /** Whether the observation is too old for an action. */
    public boolean isTooOld() {
        return !interval.isZero() && now().compareTo(longest) > 0;
    }

    private Duration now() {
        var monotonic = ticker.since(begunAt);
        var wall = Duration.between(begunWall, ticker.now());
        return monotonic.compareTo(wall) > 0 ? monotonic : wall;
    }
}
