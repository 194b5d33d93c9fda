package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.State;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** Reads genv's state files under genv's own lock; where that cannot be had, without it and with more care. */
final class StateReader {
    private final Path path;
    private final Duration lockTimeout;
    private final LockHolders holders;
    private final SameDirectory same;
    private final HostPath host;

    StateReader(Path path, Duration lockTimeout, ProcFs proc) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        holders = new LockHolders(proc);
        same = new SameDirectory(path);
        host = new HostPath(path, proc);
    }

    /** Reads both files as they stood at one moment. What cannot be read is a problem in the answer. */
    State read() throws InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            var status = directory == null ? null : directory.status();
            var state = directory == null || status == null ? State.ABSENT : read(directory, status);
            return same.changed(status).map(state::with).orElse(state);
        } catch (IOException e) {
            return State.unreadable(new Problem("state_unreadable", path + ": " + e.getMessage()));
        }
    }

    private State read(StateDirectory directory, FileStatus status) throws IOException, InterruptedException {
        var moved = host.moved(status);
        if (moved.isPresent()) {
            return State.unreadable(moved.get());
        }
        var start = System.nanoTime();
        try {
            return locked(directory, start);
        } catch (LockException e) {
            var waited = since(start);
            var why = holders.explain(e) + ". The state is read without it; nothing can be detached";
            return UnlockedReading.of(directory)
                    .with(new Problem(e.code(), why))
                    .waited(waited);
        }
    }

    private State locked(StateDirectory directory, long start) throws IOException, InterruptedException {
        do {
            RawState raw;
            Duration waited;
            try (var lock = directory.lock(lockTimeout, false)) {
                waited = since(start);
                raw = RawState.of(directory);
                // Where there is no lock file nobody holds it; if one came meanwhile, somebody may have been writing.
                if (lock == null && directory.hasLock()) {
                    continue;
                }
            }
            return raw.parsed().waited(waited); // no longer under the lock
        } while (since(start).compareTo(lockTimeout) < 0);
        throw LockException.unusable("comes and goes", null);
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }
}
