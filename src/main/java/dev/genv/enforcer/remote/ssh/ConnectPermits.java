package dev.genv.enforcer.remote.ssh;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

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
        var permit = new Permit();
        Thread.ofVirtual().name("ssh").start(() -> releaseAfter(permit));
        return permit;
    }

    private void releaseAfter(Permit permit) {
        try {
            if (!permit.returned.await(longest.toNanos(), TimeUnit.NANOSECONDS)) {
                permit.close();
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt(); // never happens
        } finally {
            free.release();
        }
    }

    /** The permission to make one connection attempt. */
    static final class Permit implements AutoCloseable {
        private final CountDownLatch returned = new CountDownLatch(1);

        @Override
        public void close() {
            returned.countDown();
        }
    }
}
