package dev.genv.enforcer.remote.ssh;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Lets only so many do something at a time. A turn that takes long ends by itself, whatever comes of the work: those who hang
 * are no work, and would keep all the others waiting.
 */
final class Turns {
    private final Semaphore free;
    private final Duration longest;

    Turns(int most, Duration longest) {
        this.free = new Semaphore(most, true);
        this.longest = longest;
    }

    /**
     * Waits for one.
     *
     * @throws TimeoutException where none comes in time
     */
    Turn take(Deadline deadline) throws TimeoutException, InterruptedException {
        if (!free.tryAcquire(deadline.left().toNanos(), TimeUnit.NANOSECONDS)) {
            throw new TimeoutException("no turn came in time");
        }
        var turn = new Turn();
        Thread.ofVirtual().name("ssh").start(() -> giveBackAfter(turn));
        return turn;
    }

    private void giveBackAfter(Turn turn) {
        try {
            if (!turn.over.await(longest.toNanos(), TimeUnit.NANOSECONDS)) {
                turn.close();
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt(); // nobody does that
        } finally {
            free.release();
        }
    }

    /** One of them. */
    static final class Turn implements AutoCloseable {
        private final CountDownLatch over = new CountDownLatch(1);

        @Override
        public void close() {
            over.countDown();
        }
    }
}
