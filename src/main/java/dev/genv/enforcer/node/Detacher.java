package dev.genv.enforcer.node;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.policy.Action;
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

/** Takes attachments out of {@code devices.json}, under genv's lock, and touches nothing else in it. */
final class Detacher {
    /** While others write without genv's lock, or take it away. */
    private static final int MOST_ATTEMPTS = 5;

    private static final String RESTLESS =
            "%s or %s is changed again and again while genv's lock is held: find out who writes there without it"
                    .formatted(RawState.DEVICES, GenvLock.NAME);

    private final Path path;
    private final Duration lockTimeout;
    private final LockHolders holders;
    private final Meanwhile meanwhile;

    Detacher(Path path, Duration lockTimeout, LockHolders holders) {
        this(path, lockTimeout, holders, () -> {});
    }

    Detacher(Path path, Duration lockTimeout, LockHolders holders, Meanwhile meanwhile) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        this.holders = holders;
        this.meanwhile = meanwhile;
    }

    /** What others do between the reading and the writing. */
    interface Meanwhile {
        void happens() throws IOException;
    }

    /**
     * Removes what an earlier run left unfinished, if it left something.
     *
     * @return the names of the files that are gone
     * @throws IOException where there is something that could not be removed now
     */
    List<String> removeLeftovers() throws IOException, InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || Leftovers.in(directory).isEmpty()) {
                return List.of();
            }
            try (var _ = directory.lock(lockTimeout, true)) {
                return Leftovers.remove(directory);
            }
        } catch (LockException e) {
            throw new IOException(holders.explain(e), e);
        }
    }

    /** Detaches all of them in one writing, so that the lock is taken once. */
    List<Result> detach(List<Action.Detach> detachments) throws InterruptedException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || !directory.has(RawState.DEVICES)) {
                return all(detachments, Result.of(Outcome.ALREADY_DETACHED));
            }
            for (var attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
                try (var lock = requireNonNull(directory.lock(lockTimeout, true))) {
                    Leftovers.remove(directory);
                    var results = detach(directory, lock, detachments);
                    if (results.isPresent()) {
                        return results.get();
                    }
                }
            }
            return all(detachments, Result.failed(RESTLESS));
        } catch (LockException e) {
            return all(detachments, Result.failed(holders.explain(e)));
        } catch (IOException e) {
            return all(detachments, Result.failed(String.valueOf(e.getMessage())));
        } catch (UnreadableException e) {
            return all(detachments, Result.failed(RawState.DEVICES + " " + e.getMessage()));
        }
    }

    /** Nothing where somebody else has written meanwhile: what he wrote must not be lost. */
    private Optional<List<Result>> detach(StateDirectory directory, GenvLock lock, List<Action.Detach> detachments)
            throws IOException, UnreadableException {
        var before = directory.status(RawState.DEVICES);
        var bytes = read(directory);
        if (bytes == null) {
            return Optional.of(all(detachments, Result.of(Outcome.ALREADY_DETACHED)));
        }
        var file = GenvJson.read(bytes);
        var places = detachments.stream().map(Detacher::place).toList();
        var removed = new HashSet<>(DevicesFile.remove(file, Set.copyOf(places)));
        var after = GenvJson.write(file, StateDirectory.LARGEST_FILE);
        meanwhile.happens();
        if (!removed.isEmpty()
                && !directory.replace(
                        RawState.DEVICES,
                        after,
                        () -> !Thread.currentThread().isInterrupted() // the caller no longer waits for it
                                && lock.isInPlace()
                                && Objects.equals(before, directory.status(RawState.DEVICES)))) {
            return Optional.empty();
        }
        return Optional.of(places.stream()
                .map(place -> Result.of(removed.remove(place) ? Outcome.DETACHED : Outcome.ALREADY_DETACHED))
                .toList());
    }

    private static DevicesFile.Place place(Action.Detach detach) {
        return new DevicesFile.Place(detach.device(), detach.attachment());
    }

    private static byte @Nullable [] read(StateDirectory directory) throws IOException {
        try {
            return directory.read(RawState.DEVICES);
        } catch (IOException e) {
            throw new IOException(RawState.DEVICES + ": " + e.getMessage(), e);
        }
    }

    private static List<Result> all(List<Action.Detach> detachments, Result result) {
        return Collections.nCopies(detachments.size(), result);
    }
}
