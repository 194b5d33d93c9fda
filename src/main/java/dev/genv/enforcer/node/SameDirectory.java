package dev.genv.enforcer.node;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.Problem;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Notices where the state directory is not the one of the look before: genv's users may still be in that one. */
final class SameDirectory {
    private final Path path;
    private @Nullable FileStatus earlier;

    SameDirectory(Path path) {
        this.path = path;
    }

    /**
     * What has changed.
     *
     * @param directory null where there is none now
     */
    Optional<Problem> changed(@Nullable FileStatus directory) {
        var before = earlier;
        if (directory == null) {
            return before == null ? Optional.empty() : problem("was there at an earlier look and is gone");
        }
        earlier = directory;
        return before == null || isSame(before, directory)
                ? Optional.empty()
                : problem(
                        "is another directory than at the look before: what was written down in that one is not seen");
    }

    /** A file system may give the number of a directory that was removed to the next one. */
    private static boolean isSame(FileStatus one, FileStatus other) {
        return one.isSameFile(other) && one.born() == other.born();
    }

    private Optional<Problem> problem(String what) {
        return Optional.of(new Problem("state_directory_replaced", path + " " + what));
    }
}
