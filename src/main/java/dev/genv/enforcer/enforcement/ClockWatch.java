package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Notices that the wall clock was set: then its distance from the monotonic clock has changed. */
public final class ClockWatch {
    /** Two clocks cannot be read at the same instant. */
    private static final Duration TOLERANCE = Duration.ofSeconds(1);

    private final Ticker ticker;
    private Duration distance;

    public ClockWatch(Ticker ticker) {
        this.ticker = ticker;
        distance = distance();
    }

    /** By how much it was set since the last call, negative for back; empty where it was not. */
    public Optional<Duration> change() {
        var now = distance();
        var change = now.minus(distance);
        distance = now;
        return change.abs().compareTo(TOLERANCE) > 0 ? Optional.of(change) : Optional.empty();
    }

    private Duration distance() {
        return Duration.between(Instant.EPOCH, ticker.now()).minusNanos(ticker.mark());
    }
}
