package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.node.state.GenvLock.LockException;
import dev.genv.enforcer.node.state.StateReader.StatePair;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

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
            try (var _ = directory.lock(lockTimeout, true)) {
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
                try (var lock = requireNonNull(directory.lock(lockTimeout, true))) {
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
                                .<InstructionResult>map(outcome -> new InstructionResult.Finished(Result.of(outcome)))
                                .toList())
                        : Optional.empty();
            }
        };
    }

    private static List<InstructionResult> sameReply(List<AttachmentId> attachments, Result result) {
        return Collections.nCopies(attachments.size(), new InstructionResult.Finished(result));
    }
}
