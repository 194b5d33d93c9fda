package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockException;
import dev.genv.enforcer.node.state.StateAccess.StateAccessException;
import dev.genv.enforcer.node.state.StateReader.StatePair;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
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
    private final Detacher detacher;
    private @Nullable EnforcerLock acting;

    public NodeState(Path path, Duration lockTimeout, ProcFs proc) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        access = new StateAccess(path, proc);
        holders = new LockHolders(proc);
        reader = new StateReader(path, lockTimeout, access, holders);
        detacher = new Detacher(path, lockTimeout, holders);
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

    /** Removes attachments, all in one change of the file. Returns a reply for each. */
    public List<InstructionResult> detach(List<AttachmentId> attachments) throws InterruptedException {
        try {
            return access.call(lockTimeout.multipliedBy(2).plus(CALL_TIMEOUT), () -> detacher.detach(attachments));
        } catch (StateAccessException e) {
            return Collections.nCopies(attachments.size(), new InstructionResult.Inaccessible(e.directory()));
        } catch (IOException e) {
            return Collections.nCopies(
                    attachments.size(), new InstructionResult.Finished(Result.lost(String.valueOf(e.getMessage()))));
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
            var removed = access.call(lockTimeout.plus(CALL_TIMEOUT), detacher::removeLeftovers);
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

    /** Removes attachments from {@code devices.json} under genv's lock, and changes nothing else in it. */
    record Detacher(Path path, Duration lockTimeout, LockHolders holders, BeforeReplace meanwhile) {
        /** The number of attempts while others write without genv's lock, or replace the lock file. */
        private static final int MAX_ATTEMPTS = 5;

        private static final String REPEATED_CHANGES =
                "%s or %s is changed repeatedly while genv's lock is held: find out who writes there without it"
                        .formatted(StatePair.DEVICES, GenvLock.NAME);

        Detacher(Path path, Duration lockTimeout, LockHolders holders) {
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

        /** Detaches all of them in one write, so that the lock is taken once. Returns a reply for each. */
        List<InstructionResult> detach(List<AttachmentId> attachments) throws InterruptedException {
            var start = System.nanoTime();
            try (var directory = StateDirectory.open(path)) {
                if (directory == null || !directory.has(StatePair.DEVICES)) {
                    return sameReply(attachments, Result.of(Outcome.ALREADY_DETACHED));
                }
                for (var attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                    try (var lock = requireNonNull(GenvLock.acquire(directory, lockTimeout, true))) {
                        directory.removeTemporaryFiles();
                        var replies = detach(directory, lock, attachments);
                        if (replies.isPresent()) {
                            return replies.get();
                        }
                    }
                }
                return sameReply(attachments, Result.failed(REPEATED_CHANGES));
            } catch (LockException e) {
                var waited = Duration.ofNanos(System.nanoTime() - start);
                return Collections.nCopies(
                        attachments.size(), new InstructionResult.Locked(holders.facts(e, lockTimeout, waited)));
            } catch (IOException e) {
                return sameReply(attachments, Result.failed(String.valueOf(e.getMessage())));
            } catch (UnreadableException e) {
                return sameReply(attachments, Result.failed(StatePair.DEVICES + " " + e.getMessage()));
            }
        }

        /** Returns empty if another program has written in between: its changes must not be lost. */
        private Optional<List<InstructionResult>> detach(
                StateDirectory directory, GenvLock lock, List<AttachmentId> attachments)
                throws IOException, UnreadableException {
            var before = directory.status(StatePair.DEVICES);
            return switch (directory.read(StatePair.DEVICES)) {
                case StateFile.Absent _ -> Optional.of(sameReply(attachments, Result.of(Outcome.ALREADY_DETACHED)));
                case StateFile.Unreadable unreadable ->
                    Optional.of(Collections.nCopies(attachments.size(), new InstructionResult.Unreadable(unreadable)));
                case StateFile.Present(var content) -> {
                    var file = GenvJson.read(content.array());
                    var removed = new HashSet<>(DevicesFile.remove(file, Set.copyOf(attachments)));
                    var after = GenvJson.write(file, StateDirectory.LARGEST_FILE);
                    meanwhile.happens();
                    StateDirectory.Condition isUnchanged =
                            () -> !Thread.currentThread().isInterrupted() // the caller no longer waits
                                    && lock.isInPlace()
                                    && Objects.equals(before, directory.status(StatePair.DEVICES));
                    yield removed.isEmpty() || directory.replace(StatePair.DEVICES, after, isUnchanged)
                            ? Optional.of(attachments.stream()
                                    .map(attachment ->
                                            removed.remove(attachment) ? Outcome.DETACHED : Outcome.ALREADY_DETACHED)
                                    .<InstructionResult>map(
                                            outcome -> new InstructionResult.Finished(Result.of(outcome)))
                                    .toList())
                            : Optional.empty();
                }
            };
        }

        private static List<InstructionResult> sameReply(List<AttachmentId> attachments, Result result) {
            return Collections.nCopies(attachments.size(), new InstructionResult.Finished(result));
        }
    }
}
