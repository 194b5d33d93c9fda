package dev.genv.enforcer.remote.ssh;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Aborts a connection: it closes everything that was registered, so that all threads that use the connection end. */
public final class AbortHandle {
    private final List<Closeable> held = new ArrayList<>();
    private boolean aborted;
    private String stage = "no attempt was started";

    /** Registers a resource. It is closed at once if the connection was already aborted. */
    synchronized <T extends Closeable> T register(T each) {
        held.add(each);
        if (aborted) {
            close(each);
        }
        return each;
    }

    /** Records the current stage, which a timeout reports. */
    synchronized void enterStage(String now) {
        stage = now;
    }

    public synchronized String stage() {
        return stage;
    }

    public synchronized boolean isAborted() {
        return aborted;
    }

    public synchronized void abort() {
        aborted = true;
        held.forEach(AbortHandle::close);
    }

    static void close(Closeable each) {
        try {
            each.close();
        } catch (IOException _) {
            // the resource is abandoned, so the failure does not matter
        }
    }
}
