package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.linux.FileStatus;
import dev.genv.enforcer.node.proc.Mount;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The path of the state directory on the host, if the service runs in a container. A mount stays with its directory: if the host's
 * path leads to another directory later, genv's users are there, and the service reads a directory that no one uses.
 */
final class HostPath {
    private final Path path;
    private final ProcFs proc;
    private volatile @Nullable Path onHost;

    HostPath(Path path, ProcFs proc) {
        this.path = path;
        this.proc = proc;
    }

    /** Returns its path on the host; null if unknown. */
    @Nullable
    Path onHost() {
        return onHost;
    }

    /** Returns a stale directory if this is not the host's; empty if it is, or if that is unknown. */
    Optional<Directory.Stale> check(FileStatus directory) {
        if (directory.links() == 0) {
            return Optional.of(new Directory.Stale(""));
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
                    : Optional.of(new Directory.Stale(known.toString()));
        } catch (IOException notPermitted) {
            return Optional.empty();
        }
    }

    /**
     * Returns the path of the mounted directory in its file system if it differs: the mount may have followed a link, which every user
     * can create in a directory such as {@code /var/tmp}. Empty if the path is the same, or if it is no mount. A file system may be
     * mounted below the root, or have its root in a directory (a subvolume), so either path may have a prefix.
     */
    Optional<Path> differentPath() throws IOException {
        var own = path.toRealPath();
        return Mount.of(proc.machine().mounts("self"), own)
                .filter(mount -> mount.point().equals(own))
                .map(Mount::root)
                .filter(there -> !isSuffix(own, there) && !isSuffix(there, own));
    }

    private static boolean isSuffix(Path path, Path end) {
        return end.getNameCount() == 0 || path.endsWith(end.subpath(0, end.getNameCount()));
    }

    /** The host may mount the same file system several times; the mount that leads to this directory counts. */
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
