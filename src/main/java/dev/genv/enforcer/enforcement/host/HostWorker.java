package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Runs the tasks of one host, one at a time, on its own thread, so that every wait for it has a time limit. */
public final class HostWorker {
    private final Host host;
    private final Executor threads;
    private final Ticker ticker;
    private final AtomicReference<@Nullable Object> busyWith = new AtomicReference<>();

    private final Map<Kind, UnreachableException> failures = new ConcurrentHashMap<>();
    private volatile @Nullable FutureTask<?> current;
    private volatile long startedAt;

    HostWorker(Host host, Executor threads, Ticker ticker) {
        this.host = host;
        this.threads = threads;
        this.ticker = ticker;
    }

    public enum Kind {
        OBSERVE,
        EXECUTE
    }

    public Host host() {
        return host;
    }

    /** Returns why the last task of a kind failed; null if it did not fail, or if there was none. */
    @Nullable
    public UnreachableException failure(Kind kind) {
        return failures.get(kind);
    }

    /** Whether a task still runs, also one that was abandoned. */
    boolean isBusy() {
        return busyWith.get() != null;
    }

    /** Interrupts a task that has run longer than any caller waits. */
    void abandonIfOlderThan(Duration age) {
        if (busyWith.get() != null && ticker.since(startedAt).compareTo(age) > 0) {
            abandon();
        }
    }

    /**
     * Starts a task.
     *
     * @throws UnreachableException if an earlier task still runs, or the machine allows no further thread
     */
    public <T> Pending<T> start(Kind kind, Callable<T> work) throws UnreachableException {
        var permit = new Object();
        if (!busyWith.compareAndSet(null, permit)) {
            var last = failures.get(kind);
            throw new UnreachableException(
                    ProblemCode.BUSY,
                    "still busy with an earlier cycle, so it was left out of this one"
                            + (last == null ? "" : "; before that: " + last.getMessage()));
        }
        var task = new FutureTask<>(() -> {
            try {
                var answer = work.call();
                failures.remove(kind);
                return answer;
            } catch (UnreachableException | RuntimeException e) {
                failures.put(kind, failed(e));
                throw e;
            } finally {
                // Before the result is available, because its reader may start the next task at once.
                busyWith.compareAndSet(permit, null);
            }
        });
        current = task;
        startedAt = ticker.mark();
        try {
            threads.execute(() -> {
                task.run();
                busyWith.compareAndSet(permit, null); // a task that is cancelled before it starts never runs
            });
        } catch (OutOfMemoryError e) { // Java's error if the machine allows no further thread
            busyWith.compareAndSet(permit, null);
            throw unreachable("not started: " + e.getMessage(), e);
        }
        return new Pending<>(this, kind, task);
    }

    /** Interrupts the running task, if any: its result is no longer needed. */
    void abandon() {
        var task = current;
        if (task != null) {
            task.cancel(true);
        }
    }

    private static UnreachableException failed(Throwable why) {
        return why instanceof UnreachableException known ? known : unreachable(String.valueOf(why), why);
    }

    private static UnreachableException unreachable(String message, Throwable cause) {
        return new UnreachableException(ProblemCode.UNREACHABLE, message, cause);
    }

    public record Pending<T>(HostWorker worker, Kind kind, FutureTask<T> task) {

        /**
         * Waits for the result.
         *
         * @throws UnreachableException if the task failed, or did not end in time; it is then interrupted
         */
        public T await(Duration timeout) throws UnreachableException, InterruptedException {
            try {
                return get(timeout);
            } catch (TimeoutException e) {
                task.cancel(true);
                var late = unreachable("no answer in time", e);
                worker.failures.put(kind, late);
                throw late;
            }
        }

        /**
         * Waits for the result, and lets the task continue after that time.
         *
         * @throws UnreachableException if the task failed or did not end in time
         */
        public T awaitWithoutAbandoning(Duration timeout) throws UnreachableException, InterruptedException {
            try {
                return get(timeout);
            } catch (TimeoutException e) {
                var last = worker.failures.get(kind);
                throw last == null
                        ? unreachable("no answer yet", e)
                        : new UnreachableException(last.code(), "no answer yet; before that: " + last.getMessage());
            }
        }

        private T get(Duration timeout) throws UnreachableException, InterruptedException, TimeoutException {
            try {
                return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            } catch (CancellationException e) {
                throw unreachable("abandoned", e);
            } catch (ExecutionException e) {
                throw failed(Objects.requireNonNullElse(e.getCause(), e));
            }
        }
    }
}
