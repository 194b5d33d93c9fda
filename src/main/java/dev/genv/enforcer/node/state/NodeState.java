package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.Machine.SwapResult;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockHolders;
import dev.genv.enforcer.node.state.StateDirectory.StatePair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * genv's state on this machine. Every access has a time limit, because a file system may not answer. The files are read under genv's lock or,
 * if the lock is not available, without it and with additional checks.
 */
public final class NodeState {
    /** The time limit of an access, without the wait for genv's lock: one second of it is for reading without the lock. */
    private static final Duration TIMEOUT = Duration.ofSeconds(4);

    private final Path path;
    private final Duration lockTimeout;
    private final StateAccess access;
    private final LockHolders holders;
    private @Nullable EnforcerLock acting;

    public NodeState(Path path, Duration lockTimeout, ProcFs proc) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        access = new StateAccess(path, proc);
        holders = new LockHolders(proc);
    }

    /**
     * What the service may do in the directory.
     *
     * @param isWritable whether it may write in it; true if there is none, or if it was not examined
     */
    public record DirectoryCheck(EnforcerFacts enforcers, boolean isWritable) {
        private static final DirectoryCheck NOT_EXAMINED = new DirectoryCheck(EnforcerFacts.NONE, true);
    }

    /** Takes the enforcer lock, and checks whether the directory is writable. */
    public DirectoryCheck checkDirectory() throws InterruptedException {
        try {
            return access.call(TIMEOUT, this::check);
        } catch (IOException e) {
            return DirectoryCheck.NOT_EXAMINED;
        }
    }

    private DirectoryCheck check() {
        var lock = acting;
        return new DirectoryCheck(lock == null ? EnforcerFacts.NONE : lock.take(), isWritable());
    }

    private boolean isWritable() {
        return !Files.exists(path, LinkOption.NOFOLLOW_LINKS) || Files.isWritable(path);
    }

    /**
     * Reads both files at the beginning of a cycle, before anything else in the directory, and without genv's lock. Nobody knows when a cycle
     * begins, and no event shows it before both files are open. A file that another program is writing is read under the lock.
     */
    public StateFacts look() throws InterruptedException {
        var seen = read(
                TIMEOUT, FileCalls.O_PATH, directory -> new Read(LockFacts.NOT_ATTEMPTED, StatePair.atOnce(directory)));
        return seen.directory() instanceof Directory.Present && !new StatePair(seen.envs(), seen.devices()).isComplete()
                ? read(Duration.ZERO)
                : seen;
    }

    /** The state at the end of an observation, and the check of its directory directly before. */
    public record CheckedState(DirectoryCheck check, StateFacts facts) {}

    /**
     * Checks the directory as {@link #checkDirectory}, and reads the state again unless the check or the earlier reading failed. Both readings
     * together wait for genv's lock no longer than one may.
     */
    public CheckedState checkAndRead(StateFacts earlier) throws InterruptedException {
        var directory = earlier.directory();
        var isRead = directory instanceof Directory.Present || directory instanceof Directory.Absent;
        var left = isRead ? left(Objects.requireNonNullElse(earlier.lock().waited(), Duration.ZERO)) : Duration.ZERO;
        var checked = new AtomicReference<>(DirectoryCheck.NOT_EXAMINED);
        try {
            var facts = access.call(left.plus(TIMEOUT), () -> {
                checked.set(check());
                return isRead
                        ? readNow(FileCalls.O_RDONLY, folder -> read(folder, left))
                                .after(earlier)
                        : earlier;
            });
            return new CheckedState(checked.get(), facts);
        } catch (IOException e) {
            return new CheckedState(checked.get(), unread(StateAccess.directory(e)));
        }
    }

    /**
     * Reads both files as they were at one moment.
     *
     * @param waited how long an earlier reading of the same observation waited for genv's lock
     */
    StateFacts read(Duration waited) throws InterruptedException {
        var left = left(waited);
        return read(left.plus(TIMEOUT), FileCalls.O_RDONLY, directory -> read(directory, left));
    }

    private Duration left(Duration waited) {
        return waited.compareTo(lockTimeout) < 0 ? lockTimeout.minus(waited) : Duration.ZERO;
    }

    private record Read(LockFacts lock, StatePair files) {}

    private interface Reading {
        Read of(StateDirectory directory) throws IOException, InterruptedException;
    }

    private StateFacts read(Duration timeout, int directoryAccess, Reading reading) throws InterruptedException {
        try {
            return access.call(timeout, () -> readNow(directoryAccess, reading));
        } catch (IOException e) {
            return unread(StateAccess.directory(e));
        }
    }

    private static StateFacts unread(Directory directory) {
        return new StateFacts(directory, LockFacts.NOT_ATTEMPTED, new StateFile.Absent(), new StateFile.Absent());
    }

    private StateFacts readNow(int directoryAccess, Reading reading) throws IOException, InterruptedException {
        try (var directory = open(directoryAccess)) {
            if (directory == null) {
                return unread(new Directory.Absent());
            }
            var status = directory.folder().status();
            var stale = access.check(status);
            if (stale.isPresent()) {
                return unread(stale.get());
            }
            var read = reading.of(directory);
            var present = new Directory.Present(new FileId(status.device(), status.inode()), status.born());
            return new StateFacts(present, read.lock, read.files.envs(), read.files.devices());
        }
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

    private Read read(StateDirectory directory, Duration limit) throws IOException, InterruptedException {
        try (var lock = new GenvLock(directory, limit, false)) {
            for (var isTaken = lock.take(); isTaken; isTaken = lock.retake()) {
                var facts = lock.facts(holders, lockTimeout);
                var files = StatePair.of(directory);
                if (lock.isStillHeld()) {
                    return new Read(facts, files);
                }
            }
            return new Read(lock.facts(holders, lockTimeout), StatePair.readUnlocked(directory));
        }
    }

    /** Replaces {@code devices.json} if it is still the file with this digest. */
    public SwapResult swapDevices(String digest, byte[] content) throws InterruptedException {
        try {
            return access.call(lockTimeout.multipliedBy(2).plus(TIMEOUT), () -> swap(digest, content, () -> true));
        } catch (IOException e) {
            return StateAccess.directory(e) instanceof Directory.UserMount mount
                    ? new SwapResult.Inaccessible(mount)
                    : new SwapResult.Perhaps(String.valueOf(e.getMessage()));
        }
    }

    /** Gives an empty state directory of root the permissions that genv needs. */
    public Optional<String> openToAll() throws InterruptedException {
        try {
            return access.call(TIMEOUT, this::openIfEmpty);
        } catch (IOException e) {
            return Optional.of("%s cannot be prepared for genv: %s".formatted(path, e.getMessage()));
        }
    }

    private Optional<String> openIfEmpty() throws IOException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || !directory.isClosedToOthers() || !isEmpty()) {
                return Optional.empty();
            }
            var elsewhere = access.differentPath();
            if (elsewhere.isPresent()) {
                return Optional.of(
                        "%s is closed to other users, and a mount of %s, which may not be genv's: mount the directory at its own path, or set its mode to 0777"
                                .formatted(path, elsewhere.get()));
            }
            directory.openToAll();
            return Optional.of(
                    "%s was empty and closed to other users; its mode is now 0777, as genv needs it".formatted(path));
        }
    }

    private boolean isEmpty() throws IOException {
        try (var entries = Files.list(path)) {
            return entries.allMatch(entry -> entry.endsWith(EnforcerLock.NAME));
        }
    }

    /** Takes the enforcer lock, and removes the files that a killed run left behind. */
    public Optional<String> claim() throws InterruptedException {
        acting = new EnforcerLock(path, holders.proc());
        try {
            var removed = access.call(lockTimeout.plus(TIMEOUT), this::removeLeftovers);
            return removed.isEmpty()
                    ? Optional.empty()
                    : Optional.of("%s: removed %d temporary file(s) of an earlier run".formatted(path, removed.size()));
        } catch (IOException e) {
            return Optional.of("%s: the temporary files of an earlier run are not removed yet: %s"
                    .formatted(path, e.getMessage()));
        }
    }

    public void close() {
        access.close();
        if (acting != null) {
            acting.close();
        }
    }

    /**
     * Removes the temporary files that an earlier run left behind.
     *
     * @return the names of the removed files
     * @throws IOException if a file could not be removed
     */
    List<String> removeLeftovers() throws IOException, InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || directory.temporaryFiles().isEmpty()) {
                return List.of();
            }
            try (var lock = new GenvLock(directory, lockTimeout, true)) {
                if (!lock.take()) {
                    throw lock.failure();
                }
                return directory.removeTemporaryFiles();
            }
        }
    }

    /**
     * Replaces the file if it is still the one with this SHA-256: the changes of others must not be lost.
     *
     * @param condition another one that is checked directly before
     */
    SwapResult swap(String digest, byte[] content, StateDirectory.Condition condition) throws InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || directory.folder().find(StatePair.DEVICES) == null) {
                return new SwapResult.Found(new StateFile.Absent());
            }
            try (var lock = new GenvLock(directory, lockTimeout, true)) {
                if (!lock.take()) {
                    return new SwapResult.Locked(lock.facts(holders, lockTimeout));
                }
                directory.removeTemporaryFiles();
                return swap(directory, lock, digest, content, condition);
            }
        } catch (IOException e) {
            return new SwapResult.NotWritten(String.valueOf(e.getMessage()));
        }
    }

    private static SwapResult swap(
            StateDirectory directory, GenvLock lock, String digest, byte[] content, StateDirectory.Condition condition)
            throws IOException {
        var before = directory.folder().find(StatePair.DEVICES);
        var file = directory.read(StatePair.DEVICES);
        if (!(file instanceof StateFile.Present(var old))
                || !Sha256.hex(old.array()).equals(digest)) {
            return new SwapResult.Found(file);
        }
        StateDirectory.Condition isUnchanged = () -> condition.holds()
                && !Thread.currentThread().isInterrupted() // the caller no longer waits
                && lock.isInPlace()
                && Objects.equals(before, directory.folder().find(StatePair.DEVICES));
        return directory.replace(StatePair.DEVICES, content, isUnchanged)
                ? new SwapResult.Done()
                : new SwapResult.Disturbed();
    }
}
