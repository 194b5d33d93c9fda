package dev.genv.enforcer.remote.ssh;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A moment, by the monotonic clock, at which work must have ended. */
record Deadline(long nanoTime) {
    static Deadline in(Duration duration) {
        return new Deadline(System.nanoTime() + duration.toNanos());
    }

    Duration remaining() {
        return Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()));
    }

    /** The remaining time for methods that take 0 as no limit: at least 1 ms. */
    int millis() {
        return Math.clamp(remaining().toMillis(), 1, Integer.MAX_VALUE);
    }

    /**
     * Runs a call that may hang on its own virtual thread, because JSch ignores interrupts, and sometimes its own time limits.
     *
     * @param onTimeout ends the call after the deadline
     */
    <T> T call(Callable<T> work, Runnable onTimeout) throws ExecutionException, TimeoutException, InterruptedException {
        var task = new FutureTask<>(work);
        Thread.ofVirtual().name("ssh").start(task);
        try {
            return task.get(remaining().toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException | InterruptedException e) {
            onTimeout.run();
            throw e;
        }
    }
}
