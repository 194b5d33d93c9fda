package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;

/** A file system (FUSE) that a user has mounted over the state directory or in it. */
public final class UserMount {
    private static final int LONGEST = 200;

    private UserMount() {}

    /**
     * Returns the problem. The user decides what is read there and whether there is an answer, so the service accesses nothing there.
     *
     * @param uid the user whose process serves it
     * @param type such as {@code fuse.sshfs}
     * @param point where it is mounted
     */
    public static Problem problem(String directory, long uid, String type, String point) {
        return new Problem(
                ProblemCode.STATE_USER_MOUNT,
                "%s is not read: user %d has mounted a file system of the type %s on %s: unmount it (umount -l) and terminate the process that serves it"
                        .formatted(directory, uid, SafeText.escape(type, LONGEST), SafeText.escape(point, LONGEST)));
    }
}
