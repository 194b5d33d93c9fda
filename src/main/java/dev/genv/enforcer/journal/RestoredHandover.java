package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.journal.Journal.Restored;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What was read of earlier runs, until the service takes it, once. */
final class RestoredHandover {
    private @Nullable Restored offered;
    private boolean isTaken;

    /** Offers what was read so far, instead of an earlier offer. */
    synchronized void offer(Restored read) {
        offered = isTaken ? null : read;
    }

    /** Returns what was read so far; empty if nothing was read, or it is taken already. */
    synchronized Optional<Restored> take() {
        var taken = Optional.ofNullable(offered);
        isTaken |= taken.isPresent();
        offered = null;
        return taken;
    }

    synchronized boolean isOffered() {
        return offered != null;
    }

    synchronized boolean isTaken() {
        return isTaken;
    }
}
