package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.facts.StateFacts.Directory;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.Optional;

/** Why the state directory is not read. */
public final class DirectoryProblem {
    private static final int LONGEST = 200;

    private DirectoryProblem() {}

    /** Returns the problem; empty if the directory was read or does not exist. */
    public static Optional<Problem> of(String path, Directory directory) {
        return switch (directory) {
            case Directory.Present _, Directory.Absent _ -> Optional.empty();
            case Directory.UserMount mount -> Optional.of(userMount(path, mount));
            case Directory.Stale(var onHost) ->
                Optional.of(new Problem(
                        ProblemCode.STATE_DIRECTORY_MOVED,
                        onHost.isEmpty()
                                ? path + " was removed, and only the mount still leads there: recreate the container"
                                : "%s is a mount of a directory that the host no longer has at %s: recreate the container"
                                        .formatted(path, onHost)));
            case Directory.Unreadable(var failure, var reason) ->
                Optional.of(
                        failure == Failure.TIMEOUT
                                ? new Problem(
                                        ProblemCode.STATE_TIMEOUT, "%s does not answer: %s".formatted(path, reason))
                                : new Problem(ProblemCode.STATE_UNREADABLE, path + ": " + reason));
        };
    }

    /** The user decides what is read there and whether there is an answer, so the service accesses nothing there. */
    static Problem userMount(String path, Directory.UserMount mount) {
        return new Problem(
                ProblemCode.STATE_USER_MOUNT,
                "%s is not read: user %d has mounted a file system of the type %s on %s: unmount it (umount -l) and terminate the process that serves it"
                        .formatted(
                                path,
                                mount.uid(),
                                SafeText.escape(mount.type(), LONGEST),
                                SafeText.escape(mount.point(), LONGEST)));
    }
}
