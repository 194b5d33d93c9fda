package dev.genv.enforcer.node.state;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.linux.KernelClock;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.state.State;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads genv's state files under genv's lock or, if the lock is not available, without it and with additional checks. */
final class StateReader {
    /** The time limit of reading, without the wait for genv's lock: one second of it is for reading without the lock. */
    private static final Duration READ_TIMEOUT = Duration.ofSeconds(4);

    private final Path path;
    private final StateAccess access;
    private final Duration lockTimeout;
    private final LockHolders holders;
    private final SameDirectoryCheck same;

    StateReader(Path path, Duration lockTimeout, ProcFs proc) {
        this(path, lockTimeout, proc, new StateAccess(path, proc));
    }

    StateReader(Path path, Duration lockTimeout, ProcFs proc, StateAccess access) {
        this.path = path;
        this.access = access;
        this.lockTimeout = lockTimeout;
        holders = new LockHolders(proc);
        same = new SameDirectoryCheck(path);
    }

    /**
     * The result of reading.
     *
     * @param directory the directory; null if there is none
     * @param state parses the state; this may take a while for large files, and needs no file system
     */
    private record Reading(@Nullable FileStatus directory, Supplier<State> state) {}

    /** Reads both files as they were at one moment. A file that cannot be read is a problem in the result. */
    State read() throws InterruptedException {
        try {
            var reading = access.call(lockTimeout.plus(READ_TIMEOUT), this::reading);
            var state = reading.state.get();
            var replaced = same.check(reading.directory);
            if (reading.directory == null && replaced.isPresent()) {
                // It was removed at an unknown time before this reading, perhaps after a process started.
                state = state.changed(KernelClock.ticks());
            }
            return replaced.map(state::with).orElse(state);
        } catch (StateAccessException e) {
            return State.unreadable(e.problem());
        } catch (IOException e) {
            return State.unreadable(new Problem(ProblemCode.STATE_UNREADABLE, path + ": " + e.getMessage()));
        }
    }

    private Reading reading() throws IOException, InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            var status = directory == null ? null : directory.status();
            if (directory == null || status == null) {
                return new Reading(null, () -> State.ABSENT);
            }
            var state = read(directory, status);
            // Read after the files: a change in between makes the state look newer, never older.
            var changedAt = KernelClock.ticksAtFileTime(directory.lastChange());
            return new Reading(status, () -> state.get().changed(changedAt));
        }
    }

    private Supplier<State> read(StateDirectory directory, FileStatus status) throws IOException, InterruptedException {
        var moved = access.host().check(status);
        if (moved.isPresent()) {
            return () -> State.unreadable(moved.get());
        }
        var start = System.nanoTime();
        try {
            return locked(directory, start);
        } catch (LockException e) {
            var waited = since(start);
            var why = holders.explain(e) + ". The state is read without it; nothing can be detached";
            var state = UnlockedReader.of(directory)
                    .with(new Problem(e.code(), why))
                    .withLockWait(waited);
            return () -> state;
        }
    }

    private Supplier<State> locked(StateDirectory directory, long start) throws IOException, InterruptedException {
        // The time limit covers all attempts, even if the lock file is replaced repeatedly.
        for (var left = lockTimeout; !left.isNegative(); left = lockTimeout.minus(since(start))) {
            RawState raw;
            Duration waited;
            try (var lock = directory.lock(left, false)) {
                waited = since(start);
                raw = RawState.of(directory);
                // Without a lock file the lock is free; if the file was created in between, another program may have
                // written.
                if (lock == null && directory.hasLock()) {
                    continue;
                }
            }
            return () -> raw.parsed().withLockWait(waited); // no longer under the lock
        }
        throw LockException.unusable("is created and removed repeatedly", null);
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }
}
