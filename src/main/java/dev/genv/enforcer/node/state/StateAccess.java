package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.node.proc.Hangable;
import dev.genv.enforcer.node.proc.Hangable.Limits;
import dev.genv.enforcer.node.proc.Hangable.UnansweredException;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Accesses the state directory on threads that can be abandoned, because a system call on a file system that does not answer never
 * returns. If a user has mounted a file system there, nothing is accessed.
 */
final class StateAccess implements AutoCloseable {
    /** The largest number of abandoned threads. */
    static final int MAX_STUCK = 8;

    private static final int LONGEST = 200;

    private final Path path;
    private final ProcFs proc;
    private final MountWatch ownMounts;
    private final MountWatch hostMounts;
    /** The path of the directory on the host, if the service runs in a container; null if unknown. */
    private volatile @Nullable Path onHost;

    private final Hangable threads = new Hangable("state-directory", new Limits(MAX_STUCK, Duration.ZERO));

    StateAccess(Path path, ProcFs proc) {
        this.path = path;
        this.proc = proc;
        ownMounts = new MountWatch(proc.machine().mountinfo("self"));
        hostMounts = new MountWatch(proc.machine().mountinfo("1"));
    }

    /**
     * Runs a call.
     *
     * @param most the time limit
     * @throws StateAccessException if access is refused, or if there is no answer in time; the call may then still end later, on
     *     an interrupted thread
     */
    <T> T call(Duration most, Callable<T> work) throws IOException, InterruptedException {
        requireNoUserMount(path);
        try {
            // No two calls wait for the same, and the limit is for all users together.
            return threads.with(new Limits(MAX_STUCK, most)).call(new Object(), 0L, () -> {
                var real = realPath();
                if (!real.equals(path)) {
                    requireNoUserMount(real);
                }
                return work.call();
            });
        } catch (UnansweredException e) {
            if (e.getCause() != null) {
                throw e; // no thread could be started
            }
            throw unanswered(
                    e.failure() == Failure.TIMEOUT
                            ? "there was no answer within %d ms".formatted(most.toMillis())
                            : "%d earlier calls have not returned".formatted(MAX_STUCK));
        }
    }

    /** Resolves the path except for its last element, whose file system would have to answer. */
    private Path realPath() throws IOException {
        var absolute = path.toAbsolutePath().normalize();
        var parent = absolute.getParent();
        var name = absolute.getFileName();
        return parent == null || name == null || !parent.toFile().exists()
                ? absolute
                : parent.toRealPath().resolve(name);
    }

    private void requireNoUserMount(Path directory) throws StateAccessException {
        var mount = userMount(directory).orElse(null);
        if (mount != null) {
            var point = SafeText.escape(mount.point(), LONGEST);
            throw new StateAccessException(
                    mount, "user %d has mounted a file system on %s".formatted(mount.uid(), point));
        }
    }

    private Optional<Directory.UserMount> userMount(Path directory) {
        try {
            var self = FileCalls.effectiveUid();
            var here = Mount.ofUser(directory.toAbsolutePath().normalize(), ownMounts.linesIfUsersMount(), self);
            var known = onHost;
            return here.isPresent() || known == null ? here : Mount.ofUser(known, hostMounts.linesIfUsersMount(), self);
        } catch (IOException e) {
            return Optional.empty(); // unknown without /proc; the time limit still applies
        }
    }

    private StateAccessException unanswered(String why) {
        var reason = why;
        try {
            reason += Mount.of(
                            proc.machine().mounts("self"), path.toAbsolutePath().normalize())
                    .map(mount -> "; it is in a file system of the type %s that is mounted on %s"
                            .formatted(
                                    SafeText.escape(mount.type(), LONGEST),
                                    SafeText.escape(mount.point().toString(), LONGEST)))
                    .orElse("");
        } catch (IOException e) {
            // Its mount is unknown.
        }
        return new StateAccessException(
                new Directory.Unreadable(Failure.TIMEOUT, reason), "%s does not answer: %s".formatted(path, reason));
    }

    @Override
    public void close() {
        ownMounts.close();
        hostMounts.close();
    }

    /** The state directory cannot be accessed. */
    static final class StateAccessException extends IOException {
        private static final long serialVersionUID = 1L;

        private final transient Directory directory;

        StateAccessException(Directory directory, String message) {
            super(message);
            this.directory = directory;
        }
    }

    /** Returns why a call failed, as the fact of the directory. */
    static Directory directory(IOException why) {
        return why instanceof StateAccessException refused
                ? refused.directory
                : new Directory.Unreadable(Failure.OTHER, Errno.textOf(why));
    }

    /**
     * Returns a stale directory if this is not the host's; empty if it is, or if that is unknown. A mount stays with its directory: if the
     * host's path leads to another directory later, genv's users are there, and the service reads a directory that no one uses.
     */
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

    /**
     * A line of {@code /proc/PID/mountinfo}.
     *
     * @param device of the file system, as {@code major:minor}
     * @param root the directory of the file system that is mounted
     * @param point the mount point
     * @param type of the file system, such as {@code ext4} or {@code fuse.sshfs}
     * @param options of the file system
     */
    public record Mount(String device, Path root, Path point, String type, String options) {
        private static final Pattern LINE =
                Pattern.compile("\\d+ \\d+ (\\d+:\\d+) (/\\S*) (/\\S*) \\S+(?: \\S+)*? - (\\S+) \\S* (\\S*)");
        private static final Pattern USER = Pattern.compile("(?:^|,)user_id=(\\d{1,10})(?:,|$)");
        private static final Pattern ESCAPED = Pattern.compile("\\\\([0-3][0-7]{2})");

        /** Parses the valid lines, in the order of mounting. */
        public static List<Mount> parse(List<String> lines) {
            return lines.stream()
                    .map(LINE::matcher)
                    .filter(line -> line.matches())
                    .flatMap(line -> of(line).stream())
                    .toList();
        }

        /** Returns the mount that contains a path: the innermost one and, of several at the same point, the last one. */
        public static Optional<Mount> of(List<String> lines, Path path) {
            return parse(lines).stream()
                    .filter(mount -> path.startsWith(mount.point))
                    .reduce((one, next) -> next.point.getNameCount() >= one.point.getNameCount() ? next : one);
        }

        /** Returns the uid of the user whose process serves the file system (FUSE); empty if the kernel serves it. */
        OptionalLong user() {
            var match = USER.matcher(options);
            return type.startsWith("fuse") && match.find()
                    ? OptionalLong.of(Long.parseLong(match.group(1)))
                    : OptionalLong.empty();
        }

        /**
         * Returns a file system that a user has mounted over a directory or in it (FUSE).
         *
         * @param mountinfo as {@link MountWatch#linesIfUsersMount}
         * @param trusted the uid that is trusted besides root's
         */
        public static Optional<Directory.UserMount> ofUser(Path directory, List<String> mountinfo, long trusted) {
            if (mountinfo.isEmpty()) {
                return Optional.empty(); // as on most machines
            }
            var within = parse(mountinfo).stream().filter(mount -> mount.point.startsWith(directory));
            return Stream.concat(of(mountinfo, directory).stream(), within)
                    .filter(mount -> mount.user().isPresent())
                    .filter(mount ->
                            mount.user().getAsLong() != 0 && mount.user().getAsLong() != trusted)
                    .findFirst()
                    .map(mount ->
                            new Directory.UserMount(mount.user().orElseThrow(), mount.type, mount.point.toString()));
        }

        public Path inFileSystem(Path path) {
            return root.resolve(point.relativize(path)).normalize();
        }

        public Path inMount(Path inFileSystem) {
            return point.resolve(root.relativize(inFileSystem)).normalize();
        }

        /** Empty if a path contains characters that Java cannot represent here: users choose names of mounts. */
        private static Optional<Mount> of(Matcher line) {
            try {
                return Optional.of(new Mount(
                        line.group(1), path(line.group(2)), path(line.group(3)), line.group(4), line.group(5)));
            } catch (InvalidPathException e) {
                return Optional.empty();
            }
        }

        /** Spaces and similar characters are written in octal. */
        private static Path path(String text) {
            return Path.of(ESCAPED.matcher(text)
                    .replaceAll(match ->
                            Matcher.quoteReplacement(Character.toString(Integer.parseInt(match.group(1), 8)))));
        }
    }
}
