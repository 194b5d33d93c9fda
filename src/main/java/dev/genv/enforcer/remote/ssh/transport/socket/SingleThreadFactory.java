package dev.genv.enforcer.remote.ssh.transport.socket;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Provides the one thread that reads a connection. JSch would start another one for each channel that the server opens,
 * without a limit; a second request ends the connection instead.
 */
public final class SingleThreadFactory implements ThreadFactory {
    private final ThreadFactory threads = Thread.ofVirtual().name("ssh").factory();
    private final AtomicBoolean given = new AtomicBoolean();
    private final AbortHandle abortHandle;

    public SingleThreadFactory(AbortHandle abortHandle) {
        this.abortHandle = abortHandle;
    }

    @Override
    public Thread newThread(Runnable work) {
        if (given.getAndSet(true)) {
            abortHandle.abort();
            throw new IllegalStateException("the server opens channels that the service did not request");
        }
        return threads.newThread(work);
    }
}
