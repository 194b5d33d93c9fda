package dev.genv.enforcer.node.files;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.state.UserMount;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds file systems that a user has mounted over the state directory or in it (FUSE). */
public final class UserMounts {
    private UserMounts() {}

    /**
     * Returns a problem if there is such a mount.
     *
     * @param mountinfo the lines of {@code /proc/PID/mountinfo}
     * @param trusted the uid that is trusted besides root's
     */
    public static Optional<Problem> at(Path directory, List<String> mountinfo, long trusted) {
        var within =
                Mount.parse(mountinfo).stream().filter(mount -> mount.point().startsWith(directory));
        return Stream.concat(Mount.of(mountinfo, directory).stream(), within)
                .filter(mount -> mount.user().isPresent())
                .filter(mount -> mount.user().getAsLong() != 0 && mount.user().getAsLong() != trusted)
                .findFirst()
                .map(mount -> UserMount.problem(
                        directory.toString(),
                        mount.user().orElseThrow(),
                        mount.type(),
                        mount.point().toString()));
    }
}
