package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A process that takes and releases genv's lock again and again, and counts how often it had the lock. */
public final class LockUser implements Closeable {
    private static final long PAUSE_NANOS = Duration.ofMillis(10).toNanos();

    private final Path lock;
    private final Thread thread;
    private volatile boolean closed;
    private boolean paused;
    private int timesTaken;

    public LockUser(Path lock) {
        this.lock = lock;
        thread = Thread.ofPlatform().daemon().name("lock user").start(this::run);
    }

    public synchronized void resume() {
        paused = false;
    }

    public synchronized void pause() {
        paused = true;
    }

    public synchronized int timesTaken() {
        return timesTaken;
    }

    @Override
    public void close() {
        closed = true;
        await().until(() -> !thread.isAlive());
    }

    private void run() {
        while (!closed) {
            lockAndRelease();
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private synchronized void lockAndRelease() {
        if (paused) {
            return;
        }
        try (var _ = RealFlock.take(lock)) {
            timesTaken++;
        } catch (IOException e) {
            // There is no lock without the state directory.
        }
    }
}
