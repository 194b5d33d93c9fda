package dev.genv.enforcer.node;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.State;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads genv's state files under genv's own lock; where that cannot be had, without it and with more care. */
final class StateReader {
    /** What reading takes at most beyond the wait for genv's lock: one second is for reading without it. */
    private static final Duration SPARE = Duration.ofSeconds(4);

    private final Path path;
    private final StateAccess access;
    private final Duration lockTimeout;
    private final LockHolders holders;
    private final SameDirectory same;

    StateReader(Path path, Duration lockTimeout, ProcFs proc) {
        this(path, lockTimeout, proc, new StateAccess(path, proc));
    }

    StateReader(Path path, Duration lockTimeout, ProcFs proc, StateAccess access) {
        this.path = path;
        this.access = access;
        this.lockTimeout = lockTimeout;
        holders = new LockHolders(proc);
        same = new SameDirectory(path);
    }

    /**
     * What was read.
     *
     * @param directory null where there is none
     * @param state what it comes to; this may take a while for large files, and needs no file system any more
     */
    private record Reading(@Nullable FileStatus directory, Supplier<State> state) {}

    /** Reads both files as they stood at one moment. What cannot be read is a problem in the answer. */
    State read() throws InterruptedException {
        try {
            var reading = access.call(lockTimeout.plus(SPARE), this::reading);
            var state = reading.state.get();
            return same.changed(reading.directory).map(state::with).orElse(state);
        } catch (StateAccessException e) {
            return State.unreadable(e.problem());
        } catch (IOException e) {
            return State.unreadable(new Problem("state_unreadable", path + ": " + e.getMessage()));
        }
    }

    private Reading reading() throws IOException, InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            var status = directory == null ? null : directory.status();
            if (directory == null || status == null) {
                return new Reading(null, () -> State.ABSENT);
            }
            var state = read(directory, status);
            // After the files: what changes between the two is then newer than what was read, never older.
            var changedAt = KernelClock.ticksAtFileTime(directory.lastChange());
            return new Reading(status, () -> state.get().changed(changedAt));
        }
    }

    private Supplier<State> read(StateDirectory directory, FileStatus status) throws IOException, InterruptedException {
        var moved = access.host().moved(status);
        if (moved.isPresent()) {
            return () -> State.unreadable(moved.get());
        }
        var start = System.nanoTime();
        try {
            return locked(directory, start);
        } catch (LockException e) {
            var waited = since(start);
            var why = holders.explain(e) + ". The state is read without it; nothing can be detached";
            var state = UnlockedReading.of(directory)
                    .with(new Problem(e.code(), why))
                    .waited(waited);
            return () -> state;
        }
    }

    private Supplier<State> locked(StateDirectory directory, long start) throws IOException, InterruptedException {
        // However often the lock file is replaced, waiting for it takes no longer in all.
        for (var left = lockTimeout; !left.isNegative(); left = lockTimeout.minus(since(start))) {
            RawState raw;
            Duration waited;
            try (var lock = directory.lock(left, false)) {
                waited = since(start);
                raw = RawState.of(directory);
                // Where there is no lock file nobody holds it; if one came meanwhile, somebody may have been writing.
                if (lock == null && directory.hasLock()) {
                    continue;
                }
            }
            return () -> raw.parsed().waited(waited); // no longer under the lock
        }
        throw LockException.unusable("comes and goes", null);
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }
}
