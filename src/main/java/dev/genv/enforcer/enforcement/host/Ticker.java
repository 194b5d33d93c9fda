package dev.genv.enforcer.enforcement.host;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Two clocks: the wall clock, which may be set, and a monotonic clock. Every decision about an age uses the monotonic clock.
 *
 * @param nanos the monotonic clock in nanoseconds, such as {@link System#nanoTime}
 */
public record Ticker(InstantSource wall, LongSupplier nanos) {
    public static Ticker ofSystem() {
        return new Ticker(InstantSource.system(), System::nanoTime);
    }

    public Instant now() {
        return wall.instant();
    }

    /** Returns the present moment of the monotonic clock, for {@link #since}. */
    public long mark() {
        return nanos.getAsLong();
    }

    public Duration since(long mark) {
        return Duration.ofNanos(nanos.getAsLong() - mark);
    }

    /** Detects that the wall clock was set, by its difference from the monotonic clock. */
    public static final class ClockWatch {
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
}
