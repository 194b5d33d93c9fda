package dev.genv.enforcer.enforcement.host;

import java.time.Duration;
import java.time.Instant;

/**
 * The age of a cycle and of its observation. If the service is stopped or its machine is suspended between an observation and its actions, the
 * processes may have changed. The monotonic clock stops while the machine is suspended, and the wall clock may be set, so the larger
 * of both ages counts.
 */
public final class ObservationAge {
    private static final int INTERVALS = 2;

    private final Ticker ticker;
    private final Duration interval;
    private final long begunMark;
    private final Instant begunAt;
    private volatile Duration longest;

    /**
     * Begins a cycle and its observation.
     *
     * @param interval from one cycle to the next; zero for a single cycle, whose observation is never too old
     * @param timeout the time limit for observing the hosts, which does not count
     */
    public ObservationAge(Ticker ticker, Duration interval, Duration timeout) {
        this.ticker = ticker;
        this.interval = interval;
        begunMark = ticker.mark();
        begunAt = ticker.now();
        longest = timeout.plus(interval.multipliedBy(INTERVALS));
    }

    /** When the cycle began, by the wall clock. */
    public Instant begunAt() {
        return begunAt;
    }

    /** How long ago the cycle began, by the monotonic clock. */
    public Duration elapsed() {
        return ticker.since(begunMark);
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
        var monotonic = elapsed();
        var wall = Duration.between(begunAt, ticker.now());
        return monotonic.compareTo(wall) > 0 ? monotonic : wall;
    }
}
