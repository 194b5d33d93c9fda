package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.function.LongSupplier;

/**
 * The time, of which there are two: the one that people read, which somebody may set, and the one that only goes on.
 * Whatever is decided by an age goes by the second.
 *
 * @param wall the time of day
 * @param nanos a count of nanoseconds from some moment on, such as {@link System#nanoTime}
 */
public record Ticker(InstantSource wall, LongSupplier nanos) {
    public static Ticker ofSystem() {
        return new Ticker(InstantSource.system(), System::nanoTime);
    }

    public Instant now() {
        return wall.instant();
    }

    /** The present, to be given to {@link #since} later. */
    public long mark() {
        return nanos.getAsLong();
    }

    public Duration since(long mark) {
        return Duration.ofNanos(nanos.getAsLong() - mark);
    }
}
