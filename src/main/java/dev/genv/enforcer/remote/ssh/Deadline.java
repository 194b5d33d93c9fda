package dev.genv.enforcer.remote.ssh;

import java.time.Duration;

/** A moment by which something must have come to its end. */
record Deadline(long nanoTime) {
    static Deadline in(Duration duration) {
        return new Deadline(System.nanoTime() + duration.toNanos());
    }

    Duration left() {
        return Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()));
    }

    /** What is left for those who take 0 for no limit. */
    int millis() {
        return Math.clamp(left().toMillis(), 1, Integer.MAX_VALUE);
    }
}
