package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.host.Machine.SwapResult;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockException;
import dev.genv.enforcer.node.state.StateAccess.StateAccessException;
import dev.genv.enforcer.node.state.StateReader.StatePair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** genv's state on this machine. Every access has a time limit, because a file system may not answer. */
public final class NodeState {
    /** The time limit of an access that waits for no lock. */
    private static final Duration CALL_TIMEOUT = Duration.ofSeconds(4);

    private final Path path;
    private final Duration lockTimeout;
    private final StateAccess access;
    private final LockHolders holders;
    private final StateReader reader;
    private final Swapper swapper;
    private @Nullable EnforcerLock acting;

    public NodeState(Path path, Duration lockTimeout, ProcFs proc) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        access = new StateAccess(path, proc);
        holders = new LockHolders(proc);
        reader = new StateReader(path, lockTimeout, access, holders);
        swapper = new Swapper(path, lockTimeout, holders);
    }

    /**
     * The checks of the directory before it is read.
     *
     * @param isWritable whether the service may write in it; true if there is none, or if it was not examined
     * @param unread why it cannot be read; null if it may be read
     */
    public record DirectoryCheck(
            EnforcerFacts enforcers,
            boolean isWritable,
            @Nullable Directory unread) {}

    /** Takes the enforcer lock, and checks whether the directory is writable. */
    public DirectoryCheck checkDirectory() throws InterruptedException {
        var lock = acting;
        try {
            return access.call(
                    CALL_TIMEOUT,
                    () -> new DirectoryCheck(lock == null ? EnforcerFacts.NONE : lock.take(), isWritable(), null));
        } catch (StateAccessException e) {
            return unread(e.directory());
        } catch (IOException e) {
            return unread(new Directory.Unreadable(Failure.OTHER, String.valueOf(e.getMessage())));
        }
    }

    private boolean isWritable() {
        return !Files.exists(path, LinkOption.NOFOLLOW_LINKS) || Files.isWritable(path);
    }

    private static DirectoryCheck unread(Directory directory) {
        return new DirectoryCheck(EnforcerFacts.NONE, true, directory);
    }

    /** Reads the state at the beginning of a cycle, before anything else in its directory. */
    public StateFacts look() throws InterruptedException {
        return reader.look();
    }

    /** Reads the state again, unless a check or the earlier reading failed. Both wait for genv's lock no longer than one may. */
    public StateFacts read(DirectoryCheck check, StateFacts earlier) throws InterruptedException {
        if (check.unread != null) {
            return StateReader.unread(check.unread);
        }
        if (earlier.directory() instanceof Directory.Present || earlier.directory() instanceof Directory.Absent) {
            return reader.read(Objects.requireNonNullElse(earlier.lock().waited(), Duration.ZERO))
                    .after(earlier);
        }
        return earlier;
    }

    /** Replaces {@code devices.json} if it is still the file with this digest. */
    public SwapResult swapDevices(String digest, byte[] content) throws InterruptedException {
        try {
            return access.call(lockTimeout.multipliedBy(2).plus(CALL_TIMEOUT), () -> swapper.swap(digest, content));
        } catch (StateAccessException e) {
            return e.directory() instanceof Directory.Unreadable
                    ? new SwapResult.Perhaps(String.valueOf(e.getMessage()))
                    : new SwapResult.Inaccessible(e.directory());
        } catch (IOException e) {
            return new SwapResult.Perhaps(String.valueOf(e.getMessage()));
        }
    }

    /** Gives an empty state directory of root the permissions that genv needs. */
    public Optional<String> openToAll() throws InterruptedException {
        try {
            return access.call(CALL_TIMEOUT, this::openIfEmpty);
        } catch (IOException e) {
            return Optional.of("%s cannot be prepared for genv: %s".formatted(path, e.getMessage()));
        }
    }

    private Optional<String> openIfEmpty() throws IOException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || !directory.isClosedToOthers() || !isEmpty()) {
                return Optional.empty();
            }
            var elsewhere = access.host().differentPath();
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
        acting = new EnforcerLock(path, holders);
        try {
            var removed = access.call(lockTimeout.plus(CALL_TIMEOUT), swapper::removeLeftovers);
            return removed.isEmpty()
                    ? Optional.empty()
                    : Optional.of("%s: removed %d temporary file(s) of an earlier run".formatted(path, removed.size()));
        } catch (IOException e) {
            return Optional.of("%s: the temporary files of an earlier run are not removed yet: %s"
                    .formatted(path, e.getMessage()));
        }
    }

    /** Releases the enforcer lock. */
    public void close() throws IOException {
        if (acting != null) {
            acting.close();
        }
    }

    /** Replaces {@code devices.json} under genv's lock. */
    record Swapper(Path path, Duration lockTimeout, LockHolders holders, BeforeReplace meanwhile) {
        Swapper(Path path, Duration lockTimeout, LockHolders holders) {
            this(path, lockTimeout, holders, () -> {});
        }

        /** Called between the reading and the writing, for tests. */
        interface BeforeReplace {
            void happens() throws IOException;
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
                try (var _ = GenvLock.acquire(directory, lockTimeout, true)) {
                    return directory.removeTemporaryFiles();
                }
            } catch (LockException e) {
                throw new IOException(e.getMessage(), e);
            }
        }

        /** Replaces the file if it is still the one with this SHA-256: the changes of others must not be lost. */
        SwapResult swap(String digest, byte[] content) throws InterruptedException {
            var start = System.nanoTime();
            try (var directory = StateDirectory.open(path)) {
                if (directory == null || !directory.has(StatePair.DEVICES)) {
                    return new SwapResult.Found(new StateFile.Absent());
                }
                try (var lock = requireNonNull(GenvLock.acquire(directory, lockTimeout, true))) {
                    directory.removeTemporaryFiles();
                    return swap(directory, lock, digest, content);
                }
            } catch (LockException e) {
                return new SwapResult.Locked(
                        holders.facts(e, lockTimeout, Duration.ofNanos(System.nanoTime() - start)));
            } catch (IOException e) {
                return new SwapResult.NotWritten(String.valueOf(e.getMessage()));
            }
        }

        private SwapResult swap(StateDirectory directory, GenvLock lock, String digest, byte[] content)
                throws IOException {
            var before = directory.status(StatePair.DEVICES);
            var file = directory.read(StatePair.DEVICES);
            if (!(file instanceof StateFile.Present(var old))
                    || !Sha256.hex(old.array()).equals(digest)) {
                return new SwapResult.Found(file);
            }
            meanwhile.happens();
            StateDirectory.Condition isUnchanged =
                    () -> !Thread.currentThread().isInterrupted() // the caller no longer waits
                            && lock.isInPlace()
                            && Objects.equals(before, directory.status(StatePair.DEVICES));
            return directory.replace(StatePair.DEVICES, content, isUnchanged)
                    ? new SwapResult.Done()
                    : new SwapResult.Disturbed();
        }
    }
}
