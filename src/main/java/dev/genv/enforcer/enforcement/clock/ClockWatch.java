package dev.genv.enforcer.enforcement.clock;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Detects that the wall clock was set, by its difference from the monotonic clock. */
public final class ClockWatch {
    /** The two clocks are not read at the same instant. */
    private static final Duration TOLERANCE = Duration.ofSeconds(1);

    private final Ticker ticker;
    private Duration distance;

    public ClockWatch(Ticker ticker) {
        this.ticker = ticker;
        distance = distance();
    }

    /** Returns by how much the clock was set since the last call, negative for back; empty if it was not set. */
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
