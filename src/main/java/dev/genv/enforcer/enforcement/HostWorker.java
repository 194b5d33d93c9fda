package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Does the work of one host, one piece at a time, on a thread of its own, so that nobody waits for it for ever. */
final class HostWorker {
    private final Host host;
    private final AtomicReference<@Nullable Object> busyWith = new AtomicReference<>();

    private volatile @Nullable FutureTask<?> current;

    HostWorker(Host host) {
        this.host = host;
    }

    Host host() {
        return host;
    }

    /**
     * Starts a piece of work.
     *
     * @throws HostException where an earlier one still goes on
     */
    <T> Pending<T> start(Callable<T> work) throws HostException {
        var turn = new Object();
        if (!busyWith.compareAndSet(null, turn)) {
            throw new HostException("still busy with an earlier cycle");
        }
        var task = new FutureTask<>(() -> {
            try {
                return work.call();
            } finally {
                // Before anybody can have the answer: whoever has it may begin the next piece at once.
                busyWith.compareAndSet(turn, null);
            }
        });
        current = task;
        // Not a virtual thread: a host that computes or hangs in the kernel would keep the carrier that others need,
        // and on a machine with one CPU not even the deadline would be noticed.
        Thread.ofPlatform().daemon().name("host-" + host.name()).start(() -> {
            task.run();
            busyWith.compareAndSet(turn, null); // a task that is cancelled before it begins is never called
        });
        return new Pending<>(task);
    }

    /** Asks the piece of work under way, if there is one, to stop: nobody will wait for it. */
    void abandon() {
        var task = current;
        if (task != null) {
            task.cancel(true);
        }
    }

    /** A piece of work that was started. */
    record Pending<T>(FutureTask<T> task) {

        /**
         * Waits for it.
         *
         * @throws HostException where it failed, or was not done in time; it is then asked to stop
         */
        T await(Duration timeout) throws HostException, InterruptedException {
            try {
                return task.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                task.cancel(true);
                throw new HostException("no answer in time");
            } catch (CancellationException e) {
                throw new HostException("given up", e);
            } catch (ExecutionException e) {
                throw new HostException(String.valueOf(e.getCause()), e);
            }
        }
    }
}
