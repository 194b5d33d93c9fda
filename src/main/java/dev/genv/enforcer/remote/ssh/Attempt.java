package dev.genv.enforcer.remote.ssh;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Work that may hang, on a virtual thread of its own: JSch pays no heed to interrupts, and not always to deadlines. */
final class Attempt {
    private Attempt() {}

    /**
     * Waits for it, but no longer than that.
     *
     * @param breakOff what makes it end when nobody waits any longer
     */
    static <T> T within(Duration limit, Callable<T> work, Runnable breakOff)
            throws ExecutionException, TimeoutException, InterruptedException {
        var task = new FutureTask<>(work);
        Thread.ofVirtual().name("ssh").start(task);
        try {
            return task.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException | InterruptedException e) {
            breakOff.run();
            throw e;
        }
    }
}
