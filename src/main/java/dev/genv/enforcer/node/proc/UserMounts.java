package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.StateFacts.Directory;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds file systems that a user has mounted over the state directory or in it (FUSE). */
public final class UserMounts {
    private static final String USER_OPTION = "user_id=";

    private UserMounts() {}

    /**
     * Returns such a mount.
     *
     * @param mountinfo the lines of {@code /proc/PID/mountinfo}
     * @param trusted the uid that is trusted besides root's
     */
    public static Optional<Directory.UserMount> at(Path directory, List<String> mountinfo, long trusted) {
        if (mountinfo.stream().noneMatch(line -> line.contains(USER_OPTION))) {
            return Optional.empty(); // as on most machines
        }
        var within =
                Mount.parse(mountinfo).stream().filter(mount -> mount.point().startsWith(directory));
        return Stream.concat(Mount.of(mountinfo, directory).stream(), within)
                .filter(mount -> mount.user().isPresent())
                .filter(mount -> mount.user().getAsLong() != 0 && mount.user().getAsLong() != trusted)
                .findFirst()
                .map(mount -> new Directory.UserMount(
                        mount.user().orElseThrow(), mount.type(), mount.point().toString()));
    }
}
