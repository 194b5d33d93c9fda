package dev.genv.enforcer.node.gpu.nvml;

import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.node.gpu.nvml.library.Activity;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The thread that calls NVML, because a call into the driver may never return. It does one thing at a time. */
final class DriverThread implements AutoCloseable {
    /** In bytes, as for the first thread of a C program: the JVM's threads have less. */
    private static final long STACK = 8 << 20;

    private final ExecutorService thread = Executors.newSingleThreadExecutor(
            Thread.ofPlatform().daemon().name("nvml").stackSize(STACK).factory());
    private final AtomicReference<@Nullable Turn> current = new AtomicReference<>();
    private final Duration timeout;
    private final Activity activity;

    DriverThread(Duration timeout, Activity activity) {
        this.timeout = timeout;
        this.activity = activity;
    }

    /** The time of one call on the thread. */
    private record Turn(long began) {}

    /** Work for the thread. It must end after an interrupt, as soon as the driver has returned. */
    interface Work<T> {
        T run() throws NvmlException;
    }

    /**
     * Runs work and waits for its result. Work that takes too long is interrupted, and its result is thrown away.
     *
     * @throws NvmlException if there is no result in time, or earlier work has not ended
     */
    <T> T call(Work<T> work) throws NvmlException, InterruptedException {
        var turn = new Turn(System.nanoTime());
        var earlier = current.compareAndExchange(null, turn);
        if (earlier != null) {
            throw new NvmlException(
                    Cause.BUSY,
                    "NVML still does not answer: %s has not returned for %d s"
                            .formatted(activity, TimeUnit.NANOSECONDS.toSeconds(turn.began - earlier.began)));
        }
        var result = new FutureTask<T>(() -> {
            try {
                return work.run();
            } finally {
                end(turn); // before there is a result, so that the next call finds the thread free
            }
        });
        thread.execute(() -> {
            result.run();
            end(turn); // also if it was cancelled before it began
        });
        try {
            return result.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new NvmlException(
                    Cause.TIMEOUT,
                    "NVML does not answer: %s has not returned within %d ms".formatted(activity, timeout.toMillis()));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof NvmlException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } finally {
            result.cancel(true); // without effect on a result
        }
    }

    private void end(Turn turn) {
        current.compareAndSet(turn, null);
    }

    /** Ends the thread after its current work. */
    @Override
    public void close() {
        thread.shutdown();
    }
}
