package dev.genv.enforcer.node.state;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Detects that the state directory was replaced since the previous observation: genv's users may still use the previous one. */
final class SameDirectoryCheck {
    private final Path path;
    private @Nullable FileStatus earlier;

    SameDirectoryCheck(Path path) {
        this.path = path;
    }

    /**
     * Returns a problem if the directory changed.
     *
     * @param directory the present directory; null if there is none
     */
    Optional<Problem> check(@Nullable FileStatus directory) {
        var before = earlier;
        if (directory == null) {
            return before == null ? Optional.empty() : problem("existed at an earlier observation and is gone");
        }
        earlier = directory;
        return before == null || isSame(before, directory)
                ? Optional.empty()
                : problem("is another directory than at the previous observation: the state in that one is not read");
    }

    /** A file system may reuse the inode number of a removed directory. */
    private static boolean isSame(FileStatus one, FileStatus other) {
        return one.isSameFile(other) && one.born() == other.born();
    }

    private Optional<Problem> problem(String what) {
        return Optional.of(new Problem(ProblemCode.STATE_DIRECTORY_REPLACED, path + " " + what));
    }
}
