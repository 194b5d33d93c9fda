package dev.genv.enforcer.remote.ssh;

import java.time.Duration;

/** A moment, by the monotonic clock, at which work must have ended. */
public record Deadline(long nanoTime) {
    public static Deadline in(Duration duration) {
        return new Deadline(System.nanoTime() + duration.toNanos());
    }

    public Duration remaining() {
        return Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()));
    }

    /** The remaining time for methods that take 0 as no limit: at least 1 ms. */
    public int millis() {
        return Math.clamp(remaining().toMillis(), 1, Integer.MAX_VALUE);
    }
}
