package dev.genv.enforcer.remote.ssh;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Limits how many connection attempts run at the same time. A permit expires after a time limit, so that attempts that hang
 * do not block the others.
 */
final class ConnectPermits {
    private final Semaphore free;
    private final Duration longest;

    ConnectPermits(int most, Duration longest) {
        this.free = new Semaphore(most, true);
        this.longest = longest;
    }

    /**
     * Waits for a permit.
     *
     * @throws TimeoutException if no permit is free before the deadline
     */
    Permit acquire(Deadline deadline) throws TimeoutException, InterruptedException {
        if (!free.tryAcquire(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS)) {
            throw new TimeoutException("no permit was free in time");
        }
        var isReturned = new AtomicBoolean();
        Permit permit = () -> {
            if (!isReturned.getAndSet(true)) {
                free.release();
            }
        };
        CompletableFuture.delayedExecutor(longest.toNanos(), TimeUnit.NANOSECONDS)
                .execute(permit::close);
        return permit;
    }

    /** The permission to make one connection attempt. */
    interface Permit extends AutoCloseable {
        @Override
        void close();
    }
}
