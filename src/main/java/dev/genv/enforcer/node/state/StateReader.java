package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.state.GenvLock.LockException;
import dev.genv.enforcer.node.state.StateAccess.StateAccessException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Reads genv's state files under genv's lock or, if the lock is not available, without it and with additional checks. */
record StateReader(Path path, Duration lockTimeout, StateAccess access, LockHolders holders) {
    /** The time limit of reading, without the wait for genv's lock: one second of it is for reading without the lock. */
    private static final Duration READ_TIMEOUT = Duration.ofSeconds(4);

    /**
     * Reads both files at the beginning of a cycle, without genv's lock. Nobody knows when a cycle begins, and no event shows it before
     * both files are open. A file that another program is writing is read under the lock.
     */
    StateFacts look() throws InterruptedException {
        var seen = read(
                READ_TIMEOUT, FileCalls.O_PATH, directory -> new Read(LockFacts.NOT_ATTEMPTED, directory.readAtOnce()));
        return seen.directory() instanceof Directory.Present && !new StatePair(seen.envs(), seen.devices()).isComplete()
                ? read(Duration.ZERO)
                : seen;
    }

    /**
     * Reads both files as they were at one moment.
     *
     * @param waited how long an earlier reading of the same observation waited for genv's lock
     */
    StateFacts read(Duration waited) throws InterruptedException {
        var left = waited.compareTo(lockTimeout) < 0 ? lockTimeout.minus(waited) : Duration.ZERO;
        return read(left.plus(READ_TIMEOUT), FileCalls.O_RDONLY, directory -> read(directory, left));
    }

    private StateFacts read(Duration timeout, int directoryAccess, Reading reading) throws InterruptedException {
        try {
            return access.call(timeout, () -> readNow(directoryAccess, reading));
        } catch (StateAccessException e) {
            return unread(e.directory());
        } catch (IOException e) {
            return unread(new Directory.Unreadable(Failure.OTHER, Errno.textOf(e)));
        }
    }

    /** Returns the facts of a directory that was not read. */
    static StateFacts unread(Directory directory) {
        return new StateFacts(directory, LockFacts.NOT_ATTEMPTED, new StateFile.Absent(), new StateFile.Absent());
    }

    private @Nullable StateDirectory open(int directoryAccess) throws IOException {
        try {
            return StateDirectory.open(path, directoryAccess);
        } catch (Errno e) {
            if (e.is(Errno.ENOTDIR)) {
                throw new IOException(Files.isSymbolicLink(path) ? "is a symbolic link" : "is not a directory", e);
            }
            throw e.is(Errno.EACCES) ? new IOException("cannot be entered", e) : e;
        }
    }

    private StateFacts readNow(int directoryAccess, Reading reading) throws IOException, InterruptedException {
        try (var directory = open(directoryAccess)) {
            if (directory == null) {
                return unread(new Directory.Absent());
            }
            var status = directory.status();
            var stale = access.host().check(status);
            if (stale.isPresent()) {
                return unread(stale.get());
            }
            var read = reading.of(directory);
            var present = new Directory.Present(new FileId(status.device(), status.inode()), status.born());
            return new StateFacts(present, read.lock, read.files.envs(), read.files.devices());
        }
    }

    private record Read(LockFacts lock, StatePair files) {}

    private interface Reading {
        Read of(StateDirectory directory) throws IOException, InterruptedException;
    }

    private Read read(StateDirectory directory, Duration limit) throws IOException, InterruptedException {
        var start = System.nanoTime();
        try {
            return locked(directory, limit, start);
        } catch (LockException e) {
            var lock = holders.facts(e, lockTimeout, since(start));
            return new Read(lock, StatePair.readUnlocked(directory));
        }
    }

    private Read locked(StateDirectory directory, Duration limit, long start) throws IOException, InterruptedException {
        // The time limit covers all attempts, even if the lock file is replaced repeatedly.
        for (var left = limit; !left.isNegative(); left = limit.minus(since(start))) {
            try (var lock = GenvLock.acquire(directory, left, false)) {
                var waited = since(start);
                var files = StatePair.of(directory);
                // Without a lock file the lock is free; if the file was created in between, another program may have
                // written.
                if (lock != null || !directory.has(GenvLock.NAME)) {
                    return new Read(new LockFacts(Outcome.HELD, "", lockTimeout, waited, List.of()), files);
                }
            }
        }
        throw LockException.unusable("is created and removed repeatedly", null);
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    /** The two state files as they were read. */
    record StatePair(StateFile envs, StateFile devices) {
        static final String ENVS = "envs.json";
        static final String DEVICES = "devices.json";
        private static final long PAUSE_MILLIS = 50;
        private static final Duration TIMEOUT = Duration.ofSeconds(1);

        static StatePair of(StateDirectory directory) {
            return new StatePair(directory.read(ENVS), directory.read(DEVICES));
        }

        /** Whether no program is writing one of the files: each is absent, or all its objects, arrays and texts end. */
        boolean isComplete() {
            return isComplete(envs) && isComplete(devices);
        }

        private static boolean isComplete(StateFile file) {
            return switch (file) {
                case StateFile.Absent _ -> true;
                case StateFile.Unreadable _ -> false;
                case StateFile.Present(var content) -> isWhole(content.array());
            };
        }

        private static boolean isWhole(byte[] content) {
            var begun = 0;
            var ended = 0;
            var isText = false;
            for (var i = 0; i < content.length; i++) {
                switch (content[i]) {
                    case '"' -> isText = !isText;
                    case '\\' -> i++;
                    case '{', '[' -> begun += isText ? 0 : 1;
                    case '}', ']' -> ended += isText ? 0 : 1;
                    default -> {}
                }
            }
            return begun > 0 && begun == ended && !isText;
        }

        /**
         * Reads the files without genv's lock, so that a user who holds the lock forever cannot stop enforcement. genv writes in place, so
         * only files that are complete and do not change for a while are valid.
         */
        static StatePair readUnlocked(StateDirectory directory) throws IOException, InterruptedException {
            var start = System.nanoTime();
            var envs = FileVersion.of(directory, ENVS);
            var devices = FileVersion.of(directory, DEVICES);
            while (true) {
                Thread.sleep(PAUSE_MILLIS);
                var envsNow = FileVersion.of(directory, ENVS);
                var devicesNow = FileVersion.of(directory, DEVICES);
                var state = new StatePair(envsNow.sameAs(envs), devicesNow.sameAs(devices));
                if (state.isComplete() || System.nanoTime() - start > TIMEOUT.toNanos()) {
                    return state;
                }
                envs = envsNow;
                devices = devicesNow;
            }
        }

        /** A file with its status before and after it was read. */
        private record FileVersion(
                @Nullable FileStatus before,
                StateFile content,
                @Nullable FileStatus after) {
            static FileVersion of(StateDirectory directory, String name) throws IOException {
                return new FileVersion(directory.status(name), directory.read(name), directory.status(name));
            }

            StateFile sameAs(FileVersion earlier) {
                return equals(earlier) && Objects.equals(before, after)
                        ? content
                        : new StateFile.Unreadable(StateFile.Cause.CHANGES_WITHOUT_LOCK, 0, "");
            }
        }
    }
}
