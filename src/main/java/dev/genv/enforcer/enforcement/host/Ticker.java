package dev.genv.enforcer.enforcement.host;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
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
}
