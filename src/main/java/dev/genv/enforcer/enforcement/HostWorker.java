package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Does the work of one host, one piece at a time, on a thread of its own, so that nobody waits for it for ever. */
final class HostWorker {
    private final Host host;
    private final ThreadFactory threads;
    private final Ticker ticker;
    private final AtomicReference<@Nullable Object> busyWith = new AtomicReference<>();

    private final Map<Kind, HostException> failures = new ConcurrentHashMap<>();
    private volatile @Nullable FutureTask<?> current;
    private volatile long startedAt;

    HostWorker(Host host, ThreadFactory threads, Ticker ticker) {
        this.host = host;
        this.threads = threads;
        this.ticker = ticker;
    }

    /** What there is to do. */
    enum Kind {
        LOOK,
        ACT
    }

    Host host() {
        return host;
    }

    /** Why the last piece of work of that kind came to nothing; null where it did not, or where there was none yet. */
    @Nullable
    HostException failure(Kind kind) {
        return failures.get(kind);
    }

    /** Asks a piece of work to stop that has gone on for longer than anybody ever waits. */
    void abandonIfOlderThan(Duration age) {
        if (busyWith.get() != null && ticker.since(startedAt).compareTo(age) > 0) {
            abandon();
        }
    }

    /**
     * Starts a piece of work.
     *
     * @throws HostException where an earlier one still goes on
     */
    <T> Pending<T> start(Kind kind, Callable<T> work) throws HostException {
        var turn = new Object();
        if (!busyWith.compareAndSet(null, turn)) {
            var last = failures.get(kind);
            throw new HostException(
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
                // Before anybody can have the answer: whoever has it may begin the next piece at once.
                busyWith.compareAndSet(turn, null);
            }
        });
        current = task;
        startedAt = ticker.mark();
        threads.newThread(() -> {
                    task.run();
                    busyWith.compareAndSet(turn, null); // a task that is cancelled before it begins is never called
                })
                .start();
        return new Pending<>(this, kind, task);
    }

    /** Asks the piece of work under way, if there is one, to stop: nobody will wait for it. */
    void abandon() {
        var task = current;
        if (task != null) {
            task.cancel(true);
        }
    }

    private static HostException failed(Throwable why) {
        return new HostException(
                why instanceof UnreachableException known ? String.valueOf(known.getMessage()) : String.valueOf(why),
                why);
    }

    /** A piece of work that was started. */
    record Pending<T>(HostWorker worker, Kind kind, FutureTask<T> task) {

        /**
         * Waits for it.
         *
         * @throws HostException where it failed, or was not done in time; it is then asked to stop
         */
        T await(Duration timeout) throws HostException, InterruptedException {
            try {
                return get(timeout);
            } catch (TimeoutException e) {
                task.cancel(true);
                var late = new HostException("no answer in time");
                worker.failures.put(kind, late);
                throw late;
            }
        }

        /**
         * Waits for it, and leaves it going where it is not done by then.
         *
         * @throws HostException where it failed or was not done in time
         */
        T awaitPatiently(Duration timeout) throws HostException, InterruptedException {
            try {
                return get(timeout);
            } catch (TimeoutException e) {
                var last = worker.failures.get(kind);
                throw last == null
                        ? new HostException("no answer yet")
                        : new HostException(last.code(), "no answer yet; before that: " + last.getMessage());
            }
        }

        private T get(Duration timeout) throws HostException, InterruptedException, TimeoutException {
            try {
                return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            } catch (CancellationException e) {
                throw new HostException("given up", e);
            } catch (ExecutionException e) {
                throw failed(Objects.requireNonNullElse(e.getCause(), e));
            }
        }
    }
}
