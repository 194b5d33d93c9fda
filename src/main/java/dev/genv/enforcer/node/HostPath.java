package dev.genv.enforcer.node;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where the state directory lies for the host, if we are in a container. A mount stays with the directory that it was made
 * of: when the host's path leads to another one since, genv's users are there, and we look at what nobody uses.
 */
final class HostPath {
    private final Path path;
    private final ProcFs proc;
    private volatile @Nullable Path onHost;

    HostPath(Path path, ProcFs proc) {
        this.path = path;
        this.proc = proc;
    }

    /** Its path on the host; null where that is not known. */
    @Nullable
    Path onHost() {
        return onHost;
    }

    /** Why this directory is not the one that the host has; nothing where it is, or where that cannot be told. */
    Optional<Problem> moved(FileStatus directory) {
        if (directory.links() == 0) {
            return problem("has been removed, and only a mount leads there still");
        }
        if (!proc.machine().isInContainer()) {
            return Optional.empty();
        }
        try {
            var known = onHost;
            if (known == null) {
                onHost = find(directory);
                return Optional.empty();
            }
            var there = proc.machine().hostStatus(known);
            return there != null && there.isSameFile(directory)
                    ? Optional.empty()
                    : problem("is a mount of a directory that the host no longer has at " + known);
        } catch (IOException notPermitted) {
            return Optional.empty();
        }
    }

    /**
     * Where the directory that is mounted here lies in its file system, if it is called otherwise there: whoever made the
     * mount may have followed a link, which anybody can put into a folder like {@code /var/tmp}. Nothing where it has the
     * same path, or is no mount of its own. A file system may be mounted somewhere below the root, or have its root in a
     * folder of its own (a subvolume), so either path may go on in front of the other.
     */
    Optional<Path> calledOtherwise() throws IOException {
        var own = path.toRealPath();
        return Mount.of(proc.machine().mounts("self"), own)
                .filter(mount -> mount.point().equals(own))
                .map(Mount::root)
                .filter(there -> !isEndOf(own, there) && !isEndOf(there, own));
    }

    private static boolean isEndOf(Path path, Path end) {
        return end.getNameCount() == 0 || path.endsWith(end.subpath(0, end.getNameCount()));
    }

    private Optional<Problem> problem(String what) {
        return Optional.of(new Problem("state_directory_moved", "%s %s: recreate the container".formatted(path, what)));
    }

    /** The host may have the same file system in several places, one over the other: the one that leads here counts. */
    private @Nullable Path find(FileStatus directory) throws IOException {
        var own = path.toRealPath();
        var mount = Mount.of(proc.machine().mounts("self"), own);
        if (mount.isEmpty()) {
            return null;
        }
        var inFileSystem = mount.get().inFileSystem(own);
        for (var candidate : Mount.parse(proc.machine().mounts("1"))) {
            if (candidate.device().equals(mount.get().device()) && inFileSystem.startsWith(candidate.root())) {
                var there = candidate.inMount(inFileSystem);
                var status = proc.machine().hostStatus(there);
                if (status != null && status.isSameFile(directory)) {
                    return there;
                }
            }
        }
        return null;
    }
}
