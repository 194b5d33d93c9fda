package dev.genv.enforcer.remote.ssh;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What a connection hangs on: cut it, and everything that works on it comes to its end by itself. */
final class Lifeline {
    private final List<Closeable> held = new ArrayList<>();
    private boolean cut;
    private String stage = "nothing was tried";

    /** Hangs something on it, which is closed at once where it has been cut. */
    synchronized <T extends Closeable> T hold(T each) {
        held.add(each);
        if (cut) {
            close(each);
        }
        return each;
    }

    /** Says what is under way, for those who gave up in the middle of it. */
    synchronized void at(String now) {
        stage = now;
    }

    synchronized String stage() {
        return stage;
    }

    synchronized boolean isCut() {
        return cut;
    }

    synchronized void cut() {
        cut = true;
        held.forEach(Lifeline::close);
    }

    private static void close(Closeable each) {
        try {
            each.close();
        } catch (IOException _) {
            // it is of no use any longer, whatever became of it
        }
    }
}
