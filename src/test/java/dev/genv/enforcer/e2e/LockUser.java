package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.RealFlock;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A process that takes and releases genv's lock again and again, and counts how often it had the lock. */
final class LockUser implements Closeable {
    private static final long PAUSE_NANOS = Duration.ofMillis(10).toNanos();

    private final Path lock;
    private final Thread thread;
    private volatile boolean closed;
    private boolean paused;
    private int taken;

    LockUser(Path lock) {
        this.lock = lock;
        thread = Thread.ofPlatform().daemon().name("lock user").start(this::run);
    }

    synchronized void goOn() {
        paused = false;
    }

    synchronized void pause() {
        paused = true;
    }

    synchronized int timesTaken() {
        return taken;
    }

    @Override
    public void close() {
        closed = true;
        await().until(() -> !thread.isAlive());
    }

    private void run() {
        while (!closed) {
            takeAndGiveBack();
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private synchronized void takeAndGiveBack() {
        if (paused) {
            return;
        }
        try (var _ = RealFlock.take(lock)) {
            taken++;
        } catch (IOException e) {
            // While the state directory is gone there is no lock.
        }
    }
}
