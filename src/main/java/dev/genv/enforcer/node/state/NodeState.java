package dev.genv.enforcer.node.state;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.proc.Privileges;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.MissingPrivilege;
import dev.genv.enforcer.observation.state.State;
import dev.genv.enforcer.policy.plan.Action;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** genv's state on this machine. Every access has a time limit, because a file system may not answer. */
public final class NodeState {
    /** The time limit of an access that waits for no lock. */
    private static final Duration CALL_TIMEOUT = Duration.ofSeconds(4);

    private final Path path;
    private final Duration lockTimeout;
    private final StateAccess access;
    private final Privileges privileges;
    private final LockHolders holders;
    private final StateReader reader;
    private final Detacher detacher;
    private @Nullable EnforcerLock acting;

    public NodeState(Path path, Duration lockTimeout, ProcFs proc, Privileges privileges) {
        this.path = path;
        this.lockTimeout = lockTimeout;
        this.privileges = privileges;
        access = new StateAccess(path, proc);
        holders = new LockHolders(proc);
        reader = new StateReader(path, lockTimeout, proc, access);
        detacher = new Detacher(path, lockTimeout, holders);
    }

    /**
     * The checks of the directory before it is read.
     *
     * @param missingPrivileges the missing privileges
     * @param problem why it cannot be read; null if it may be read
     */
    public record DirectoryCheck(
            EnforcerLock.LockStatus lockStatus,
            List<MissingPrivilege> missingPrivileges,
            @Nullable Problem problem) {}

    /** Takes the enforcer lock, and checks whether the directory is writable. */
    public DirectoryCheck checkDirectory() throws InterruptedException {
        var lock = acting;
        try {
            return access.call(
                    CALL_TIMEOUT,
                    () -> new DirectoryCheck(
                            lock == null ? EnforcerLock.LockStatus.ACTING : lock.take(), privileges.missing(), null));
        } catch (StateAccessException e) {
            return unreadable(e.problem());
        } catch (IOException e) {
            return unreadable(new Problem(ProblemCode.STATE_UNREADABLE, path + ": " + e.getMessage()));
        }
    }

    private DirectoryCheck unreadable(Problem problem) {
        return new DirectoryCheck(EnforcerLock.LockStatus.ACTING, privileges.missingElsewhere(), problem);
    }

    /** Reads the state, unless a check has already failed. */
    public State read(DirectoryCheck place) throws InterruptedException {
        return place.problem == null ? reader.read() : State.unreadable(place.problem);
    }

    public List<Result> detach(List<Action.Detach> detachments) throws InterruptedException {
        try {
            return access.call(lockTimeout.multipliedBy(2).plus(CALL_TIMEOUT), () -> detacher.detach(detachments));
        } catch (IOException | StateAccessException e) {
            return Collections.nCopies(detachments.size(), Result.lost(String.valueOf(e.getMessage())));
        }
    }

    /** Gives an empty state directory of root the permissions that genv needs. */
    public Optional<String> openToAll() throws InterruptedException {
        try {
            return access.call(CALL_TIMEOUT, this::openIfEmpty);
        } catch (IOException | StateAccessException e) {
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
        } catch (IOException | StateAccessException e) {
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
}
