package dev.genv.enforcer.remote.ssh;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The thread that reads a connection. JSch needs no other, and would start one for every channel that the other side opens,
 * as many as it likes to: that ends the connection instead.
 */
final class OneThread implements ThreadFactory {
    private final ThreadFactory threads = Thread.ofVirtual().name("ssh").factory();
    private final AtomicBoolean given = new AtomicBoolean();
    private final Lifeline lifeline;

    OneThread(Lifeline lifeline) {
        this.lifeline = lifeline;
    }

    @Override
    public Thread newThread(Runnable work) {
        if (given.getAndSet(true)) {
            lifeline.cut();
            throw new IllegalStateException("the other side opens channels, which nobody asked for");
        }
        return threads.newThread(work);
    }
}
