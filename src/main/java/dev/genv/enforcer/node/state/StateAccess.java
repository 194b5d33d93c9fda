package dev.genv.enforcer.node.state;

import dev.genv.enforcer.enforcement.host.KeptThreads;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.node.proc.Mount;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Accesses the state directory on threads that can be abandoned, because a system call on a file system that does not answer never
 * returns. If a user has mounted a file system there, nothing is accessed.
 */
final class StateAccess {
    /** The largest number of abandoned threads. */
    static final int MAX_STUCK = 8;

    private static final int LONGEST = 200;

    private final Path path;
    private final ProcFs proc;
    private final HostPath host;
    private final Executor threads = KeptThreads.named("state-directory");
    private final AtomicInteger running = new AtomicInteger();

    StateAccess(Path path, ProcFs proc) {
        this.path = path;
        this.proc = proc;
        host = new HostPath(path, proc);
    }

    /** The path of the directory on the host. */
    HostPath host() {
        return host;
    }

    /**
     * Runs a call.
     *
     * @param most the time limit
     * @throws StateAccessException if access is refused, or if there is no answer in time; the call may then still end later, on
     *     an interrupted thread
     */
    <T> T call(Duration most, Callable<T> work) throws StateAccessException, IOException, InterruptedException {
        requireNoUserMount(path);
        if (running.get() >= MAX_STUCK) {
            throw unanswered("%d earlier calls have not returned".formatted(MAX_STUCK));
        }
        var task = new FutureTask<T>(() -> {
            var real = realPath();
            if (!real.equals(path)) {
                requireNoUserMount(real);
            }
            return work.call();
        });
        start(task);
        try {
            return task.get(most.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            task.cancel(true);
            throw unanswered("there was no answer within %d ms".formatted(most.toMillis()));
        } catch (InterruptedException e) {
            task.cancel(true);
            throw e;
        } catch (ExecutionException e) {
            throw failure(Objects.requireNonNullElse(e.getCause(), e));
        }
    }

    private void start(FutureTask<?> task) throws IOException {
        running.incrementAndGet();
        try {
            threads.execute(() -> {
                task.run();
                running.decrementAndGet();
            });
        } catch (OutOfMemoryError e) {
            running.decrementAndGet(); // Java's error if the machine allows no further thread
            throw new IOException("not accessed: " + e.getMessage(), e);
        }
    }

    private static IOException failure(Throwable cause) throws StateAccessException, InterruptedException {
        return switch (cause) {
            case IOException failure -> failure;
            case StateAccessException known -> throw known;
            case InterruptedException interrupted -> throw interrupted;
            default -> throw new IllegalStateException(cause);
        };
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
            var here = Mount.ofUser(
                    directory.toAbsolutePath().normalize(), proc.machine().mounts("self"), self);
            var onHost = host.onHost();
            return here.isPresent() || onHost == null
                    ? here
                    : Mount.ofUser(onHost, proc.machine().mounts("1"), self);
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

    /** The state directory cannot be accessed. */
    static final class StateAccessException extends Exception {
        private static final long serialVersionUID = 1L;

        private final transient Directory directory;

        StateAccessException(Directory directory, String message) {
            super(message);
            this.directory = directory;
        }

        /** Returns why, as the fact of the directory. */
        Directory directory() {
            return directory;
        }
    }
}
