package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Reads files of {@code /proc} whose content the kernel reads from the memory of the process. A process can map that memory from its
 * own file system that never answers, and then the read never ends. So each read runs on a thread that can be abandoned.
 */
final class HangSafeReader {
    /** The largest number of abandoned threads. */
    static final int MAX_STUCK = 64;
    /** The largest number of one uid, so that one user cannot use all of them. Root may be several users in containers. */
    static final int MAX_STUCK_PER_USER = 8;

    private static final long ROOT = 0;
    /** Threads that have just answered and are not yet free. */
    private static final int EXTRA_THREADS = 16;

    private static final long IDLE_SECONDS = 5;

    private final ReadTimeouts timeouts;
    private final Map<ProcessId, Long> pending = new ConcurrentHashMap<>();
    /** An idle thread is reused; a new one is created only if all are stuck. */
    private final Executor readers = new ThreadPoolExecutor(
            0,
            MAX_STUCK + EXTRA_THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            work -> Thread.ofPlatform().daemon().name("reads-process-memory").unstarted(work));

    private final AtomicLong timedOutNanos = new AtomicLong();

    HangSafeReader(ReadTimeouts timeLimit) {
        this.timeouts = timeLimit;
    }

    /**
     * The time limits.
     *
     * @param process for one process
     * @param observation for all processes of one observation that do not answer, together
     * @param reduced for one process after that time is used up
     */
    record ReadTimeouts(Duration process, Duration observation, Duration reduced) {
        static final ReadTimeouts USUAL =
                new ReadTimeouts(Duration.ofSeconds(1), Duration.ofSeconds(4), Duration.ofMillis(50));
    }

    /** Begins an observation with its whole time limit. */
    void beginObservation() {
        timedOutNanos.set(0);
    }

    /**
     * Reads a file of a process.
     *
     * @param uid its real uid
     * @throws ReadTimeoutException if there is no answer; the process is not read again before the last read has returned
     * @throws IOException if it cannot be read, for any other reason too
     */
    <T> T read(ProcessId process, long uid, Callable<T> reading) throws IOException {
        if (pending.containsKey(process) || hasExceededShare(uid)) {
            throw new ReadTimeoutException();
        }
        if (pending.size() >= MAX_STUCK) {
            throw skipped();
        }
        pending.put(process, uid);
        var query = new FutureTask<T>(() -> {
            try {
                return reading.call();
            } finally {
                pending.remove(process);
            }
        });
        try {
            readers.execute(query);
        } catch (RejectedExecutionException e) {
            pending.remove(process);
            throw skipped();
        } catch (OutOfMemoryError e) {
            pending.remove(process); // Java's error if the machine allows no further thread
            throw new IOException("not read: " + e.getMessage(), e);
        }
        return answer(query);
    }

    private <T> T answer(FutureTask<T> query) throws IOException {
        var reduced = timedOutNanos.get() >= timeouts.observation.toNanos();
        var start = System.nanoTime();
        try {
            return query.get((reduced ? timeouts.reduced : timeouts.process).toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            timedOutNanos.addAndGet(System.nanoTime() - start);
            throw reduced
                    ? new NotReadException("no time was left to wait for its answer")
                    : new ReadTimeoutException();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("abandoned: it took too long");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new IllegalStateException(e);
        }
    }

    private boolean hasExceededShare(long uid) {
        return uid != ROOT
                && pending.values().stream().filter(owner -> owner == uid).count() >= MAX_STUCK_PER_USER;
    }

    private static IOException skipped() {
        return new NotReadException(
                "not read: %d other processes already do not answer; terminate them".formatted(MAX_STUCK));
    }
}
