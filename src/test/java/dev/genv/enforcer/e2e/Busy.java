package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import java.io.Closeable;
import java.io.IOException;

/** Somebody who does the same thing again and again, as fast as he can. */
final class Busy implements Closeable {
    private final Thread thread;
    private volatile boolean closed;
    private volatile IOException failure;

    /** What he does. */
    interface Work {
        void doIt() throws IOException;
    }

    Busy(Work work) {
        thread = Thread.ofPlatform().daemon().start(() -> {
            while (!closed) {
                try {
                    work.doIt();
                } catch (IOException e) {
                    failure = e;
                    return;
                }
            }
        });
    }

    /** Stops, and tells if it went wrong. */
    @Override
    public void close() throws IOException {
        closed = true;
        await().until(() -> !thread.isAlive());
        if (failure != null) {
            throw failure;
        }
    }
}
