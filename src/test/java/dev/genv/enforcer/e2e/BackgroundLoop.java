package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import java.io.Closeable;
import java.io.IOException;

/** A thread that repeats the same work as fast as possible. */
public final class BackgroundLoop implements Closeable {
    private final Thread thread;
    private volatile boolean closed;
    private volatile IOException failure;

    /** The repeated work. */
    public interface Work {
        void run() throws IOException;
    }

    public BackgroundLoop(Work work) {
        thread = Thread.ofPlatform().daemon().start(() -> {
            while (!closed) {
                try {
                    work.run();
                } catch (IOException e) {
                    failure = e;
                    return;
                }
            }
        });
    }

    /** Stops the thread, and throws what the work threw. */
    @Override
    public void close() throws IOException {
        closed = true;
        await().until(() -> !thread.isAlive());
        if (failure != null) {
            throw failure;
        }
    }
}
