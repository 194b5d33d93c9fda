package dev.genv.enforcer.remote.ssh;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs a call that may hang on its own virtual thread: JSch ignores interrupts, and sometimes its own time limits. */
public final class TimedCall {
    private TimedCall() {}

    /**
     * Waits for the result until the time limit.
     *
     * @param onTimeout ends the call after the time limit
     */
    public static <T> T call(Duration limit, Callable<T> work, Runnable onTimeout)
            throws ExecutionException, TimeoutException, InterruptedException {
        var task = new FutureTask<>(work);
        Thread.ofVirtual().name("ssh").start(task);
        try {
            return task.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException | InterruptedException e) {
            onTimeout.run();
            throw e;
        }
    }
}
