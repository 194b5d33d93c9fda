package dev.genv.enforcer.node;

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
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Takes attachments out of {@code devices.json}, under genv's lock, and touches nothing else in it. */
final class Detacher {
    private final Path path;
    private final Duration lockTimeout;
    private final LockHolders holders;

    Detacher(Path path, Duration lockTimeout, LockHolders holders) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        this.holders = holders;
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
            try (var _ = directory.lock(lockTimeout, true)) {
                Leftovers.remove(directory);
                return detach(directory, detachments);
            }
        } catch (LockException e) {
            return all(detachments, Result.failed(holders.explain(e)));
        } catch (IOException e) {
            return all(detachments, Result.failed(String.valueOf(e.getMessage())));
        } catch (UnreadableException e) {
            return all(detachments, Result.failed(RawState.DEVICES + " " + e.getMessage()));
        }
    }

    private static List<Result> detach(StateDirectory directory, List<Action.Detach> detachments)
            throws IOException, UnreadableException {
        var bytes = read(directory);
        if (bytes == null) {
            return all(detachments, Result.of(Outcome.ALREADY_DETACHED));
        }
        var file = GenvJson.read(bytes);
        var places = detachments.stream().map(Detacher::place).toList();
        var removed = new HashSet<>(DevicesFile.remove(file, Set.copyOf(places)));
        if (!removed.isEmpty()) {
            directory.replace(RawState.DEVICES, GenvJson.write(file));
        }
        return places.stream()
                .map(place -> Result.of(removed.remove(place) ? Outcome.DETACHED : Outcome.ALREADY_DETACHED))
                .toList();
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
