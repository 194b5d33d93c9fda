package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.policy.plan.Action;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Removes attachments from {@code devices.json} under genv's lock, and changes nothing else in it. */
final class Detacher {
    /** The number of attempts while others write without genv's lock, or replace the lock file. */
    private static final int MAX_ATTEMPTS = 5;

    private static final String REPEATED_CHANGES =
            "%s or %s is changed repeatedly while genv's lock is held: find out who writes there without it"
                    .formatted(RawState.DEVICES, GenvLock.NAME);

    private final Path path;
    private final Duration lockTimeout;
    private final LockHolders holders;
    private final BeforeReplace meanwhile;

    Detacher(Path path, Duration lockTimeout, LockHolders holders) {
        this(path, lockTimeout, holders, () -> {});
    }

    Detacher(Path path, Duration lockTimeout, LockHolders holders, BeforeReplace meanwhile) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        this.holders = holders;
        this.meanwhile = meanwhile;
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
            if (directory == null || TempFiles.list(directory).isEmpty()) {
                return List.of();
            }
            try (var _ = directory.lock(lockTimeout, true)) {
                return TempFiles.remove(directory);
            }
        } catch (LockException e) {
            throw new IOException(holders.explain(e), e);
        }
    }

    /** Detaches all of them in one write, so that the lock is taken once. */
    List<Result> detach(List<Action.Detach> detachments) throws InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || !directory.has(RawState.DEVICES)) {
                return sameResult(detachments, Result.of(Outcome.ALREADY_DETACHED));
            }
            for (var attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                try (var lock = requireNonNull(directory.lock(lockTimeout, true))) {
                    TempFiles.remove(directory);
                    var results = detach(directory, lock, detachments);
                    if (results.isPresent()) {
                        return results.get();
                    }
                }
            }
            return sameResult(detachments, Result.failed(REPEATED_CHANGES));
        } catch (LockException e) {
            return sameResult(detachments, Result.failed(holders.explain(e)));
        } catch (IOException e) {
            return sameResult(detachments, Result.failed(String.valueOf(e.getMessage())));
        } catch (UnreadableException e) {
            return sameResult(detachments, Result.failed(RawState.DEVICES + " " + e.getMessage()));
        }
    }

    /** Returns empty if another program has written in between: its changes must not be lost. */
    private Optional<List<Result>> detach(StateDirectory directory, GenvLock lock, List<Action.Detach> detachments)
            throws IOException, UnreadableException {
        var before = directory.status(RawState.DEVICES);
        var bytes = read(directory);
        if (bytes == null) {
            return Optional.of(sameResult(detachments, Result.of(Outcome.ALREADY_DETACHED)));
        }
        var file = GenvJson.read(bytes);
        var places = detachments.stream().map(Detacher::attachmentId).toList();
        var removed = new HashSet<>(DevicesFile.remove(file, Set.copyOf(places)));
        var after = GenvJson.write(file, StateDirectory.LARGEST_FILE);
        meanwhile.happens();
        if (!removed.isEmpty()
                && !directory.replace(
                        RawState.DEVICES,
                        after,
                        () -> !Thread.currentThread().isInterrupted() // the caller no longer waits
                                && lock.isInPlace()
                                && Objects.equals(before, directory.status(RawState.DEVICES)))) {
            return Optional.empty();
        }
        return Optional.of(places.stream()
                .map(place -> Result.of(removed.remove(place) ? Outcome.DETACHED : Outcome.ALREADY_DETACHED))
                .toList());
    }

    private static DevicesFile.AttachmentId attachmentId(Action.Detach detach) {
        return new DevicesFile.AttachmentId(detach.device(), detach.attachment());
    }

    private static byte @Nullable [] read(StateDirectory directory) throws IOException {
        try {
            return directory.read(RawState.DEVICES);
        } catch (IOException e) {
            throw new IOException(RawState.DEVICES + ": " + e.getMessage(), e);
        }
    }

    private static List<Result> sameResult(List<Action.Detach> detachments, Result result) {
        return Collections.nCopies(detachments.size(), result);
    }
}
