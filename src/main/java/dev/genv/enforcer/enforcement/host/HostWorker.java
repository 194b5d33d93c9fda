package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
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

    /** Starts a task. If an earlier one still runs, or the machine allows no further thread, it is refused: it has failed and never runs. */
    public <T> Pending<T> start(Kind kind, Callable<T> work) {
        var isSuspect = failures.containsKey(kind);
        var permit = new Object();
        if (!busyWith.compareAndSet(null, permit)) {
            return refused(
                    kind,
                    isSuspect,
                    new UnreachableException(
                            ProblemCode.BUSY,
                            "still busy with an earlier cycle, so it was left out of this one" + before(kind)));
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
            return refused(kind, isSuspect, unreachable("not started: " + e.getMessage(), e));
        }
        return new Pending<>(this, kind, isSuspect, false, task);
    }

    private <T> Pending<T> refused(Kind kind, boolean isSuspect, UnreachableException why) {
        return new Pending<>(this, kind, isSuspect, true, CompletableFuture.failedFuture(why));
    }

    private String before(Kind kind) {
        var last = failures.get(kind);
        return last == null ? "" : "; before that: " + last.getMessage();
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

    /**
     * A task.
     *
     * @param isSuspect whether the host's last task of this kind failed
     * @param isRefused whether it never runs
     */
    public record Pending<T>(HostWorker worker, Kind kind, boolean isSuspect, boolean isRefused, Future<T> task) {
        /**
         * Waits for the result.
         *
         * @param abandons whether the task is interrupted at the time limit; otherwise it continues
         * @throws UnreachableException if the task failed, or did not end in time
         */
        public T await(Duration timeout, boolean abandons) throws UnreachableException, InterruptedException {
            try {
                return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                if (!abandons) {
                    var last = worker.failures.get(kind);
                    throw new UnreachableException(
                            last == null ? ProblemCode.UNREACHABLE : last.code(),
                            "no answer yet" + worker.before(kind),
                            e);
                }
                task.cancel(true);
                var late = unreachable("no answer in time", e);
                worker.failures.put(kind, late);
                throw late;
            } catch (CancellationException e) {
                throw unreachable("abandoned", e);
            } catch (ExecutionException e) {
                throw failed(Objects.requireNonNullElse(e.getCause(), e));
            }
        }
    }
}
