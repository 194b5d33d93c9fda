package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.MissingRight;
import dev.genv.enforcer.observation.State;
import dev.genv.enforcer.policy.Action;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** genv's state on this machine. Nothing here waits for ever for a file system that does not answer. */
final class NodeState {
    /** How long the directory may take where no lock is waited for. */
    private static final Duration MOST = Duration.ofSeconds(4);

    private final Path path;
    private final Duration lockTimeout;
    private final StateAccess access;
    private final Rights rights;
    private final LockHolders holders;
    private final StateReader reader;
    private final Detacher detacher;
    private @Nullable ActingLock acting;

    NodeState(Path path, Duration lockTimeout, ProcFs proc, Rights rights) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        this.rights = rights;
        access = new StateAccess(path, proc);
        holders = new LockHolders(proc);
        reader = new StateReader(path, lockTimeout, proc, access);
        detacher = new Detacher(path, lockTimeout, holders);
    }

    /**
     * What was found out about the directory before it is read.
     *
     * @param lacking what the service lacks, in the directory and elsewhere
     * @param problem why it cannot be read; null where it may be
     */
    record Place(
            ActingLock.Standing standing,
            List<MissingRight> lacking,
            @Nullable Problem problem) {}

    /** Takes the lock of the enforcer that acts here, and checks whether the directory is writable. */
    Place place() throws InterruptedException {
        var lock = acting;
        try {
            return access.call(
                    MOST,
                    () -> new Place(lock == null ? ActingLock.Standing.ACTING : lock.take(), rights.missing(), null));
        } catch (StateAccessException e) {
            return without(e.problem());
        } catch (IOException e) {
            return without(new Problem(ProblemCode.STATE_UNREADABLE, path + ": " + e.getMessage()));
        }
    }

    private Place without(Problem problem) {
        return new Place(ActingLock.Standing.ACTING, rights.missingElsewhere(), problem);
    }

    /** Reads the state, unless it is known already that it cannot be read. */
    State read(Place place) throws InterruptedException {
        return place.problem == null ? reader.read() : State.unreadable(place.problem);
    }

    List<Result> detach(List<Action.Detach> detachments) throws InterruptedException {
        try {
            return access.call(lockTimeout.multipliedBy(2).plus(MOST), () -> detacher.detach(detachments));
        } catch (IOException | StateAccessException e) {
            return Collections.nCopies(detachments.size(), Result.lost(String.valueOf(e.getMessage())));
        }
    }

    /** See {@link NodeHost#openStateDirectoryToEverybody}. */
    Optional<String> openToEverybody() throws InterruptedException {
        try {
            return access.call(MOST, this::openIfEmpty);
        } catch (IOException | StateAccessException e) {
            return Optional.of("%s cannot be made ready for genv: %s".formatted(path, e.getMessage()));
        }
    }

    private Optional<String> openIfEmpty() throws IOException {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null || !directory.isClosedToOthers() || !isEmpty()) {
                return Optional.empty();
            }
            var elsewhere = access.host().calledOtherwise();
            if (elsewhere.isPresent()) {
                return Optional.of(
                        "%s is root's alone, and a mount of %s, which need not be genv's: mount the directory at its own path, or make it 0777"
                                .formatted(path, elsewhere.get()));
            }
            directory.openToEverybody();
            return Optional.of("%s was empty and root's alone; it is open to everybody now (0777), as genv needs it"
                    .formatted(path));
        }
    }

    private boolean isEmpty() throws IOException {
        try (var entries = Files.list(path)) {
            return entries.allMatch(entry -> entry.endsWith(ActingLock.NAME));
        }
    }

    /** See {@link NodeHost#takeCharge}. */
    Optional<String> takeCharge() throws InterruptedException {
        acting = new ActingLock(path, holders);
        try {
            var removed = access.call(lockTimeout.plus(MOST), detacher::removeLeftovers);
            return removed.isEmpty()
                    ? Optional.empty()
                    : Optional.of("%s: removed %d file(s) that an earlier run left unfinished"
                            .formatted(path, removed.size()));
        } catch (IOException | StateAccessException e) {
            return Optional.of(
                    "%s: what an earlier run left unfinished is not removed yet: %s".formatted(path, e.getMessage()));
        }
    }

    /** Lets another enforcer act here. */
    void close() throws IOException {
        if (acting != null) {
            acting.close();
        }
    }
}
