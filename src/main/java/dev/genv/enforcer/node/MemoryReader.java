package dev.genv.enforcer.node;

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
 * Reads the files of {@code /proc} that the kernel takes out of the memory of the process itself. A process can lay them
 * into a file system of its own that never answers, and then nothing ends the read: so it is done on a thread that can be
 * left behind.
 */
final class MemoryReader {
    /** No more threads than these are ever left behind. */
    static final int MOST_STUCK = 64;
    /** Of one user: he must not use them all up for everybody. Root may be many people, each in a container. */
    static final int MOST_STUCK_OF_A_USER = 8;

    private static final long ROOT = 0;
    /** Those that have just answered and are not yet ready for the next question. */
    private static final int SPARE = 16;

    private static final long IDLE_SECONDS = 5;

    private final Patience patience;
    private final Map<ProcessId, Long> asked = new ConcurrentHashMap<>();
    /** A thread that waits for work is taken again; only where all are stuck a new one is made. */
    private final Executor readers = new ThreadPoolExecutor(
            0,
            MOST_STUCK + SPARE,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            work -> Thread.ofPlatform().daemon().name("reads-process-memory").unstarted(work));

    private final AtomicLong waitedInVain = new AtomicLong();

    MemoryReader(Patience patience) {
        this.patience = patience;
    }

    /**
     * How long to wait.
     *
     * @param process for one process
     * @param look for all processes of one look that do not answer
     * @param hurried for one process, once that is used up
     */
    record Patience(Duration process, Duration look, Duration hurried) {
        static final Patience USUAL = new Patience(Duration.ofSeconds(1), Duration.ofSeconds(4), Duration.ofMillis(50));
    }

    /** From now on there is as much time as for a whole look. */
    void startLook() {
        waitedInVain.set(0);
    }

    /**
     * Reads something of a process.
     *
     * @param uid its real uid
     * @throws NoAnswerException where it does not answer; it is not asked again before the last question has come back
     * @throws IOException where it cannot be read, also where that is no fault of its own
     */
    <T> T read(ProcessId process, long uid, Callable<T> reading) throws IOException {
        if (asked.containsKey(process) || hasHadItsShare(uid)) {
            throw new NoAnswerException();
        }
        if (asked.size() >= MOST_STUCK) {
            throw notAsked();
        }
        asked.put(process, uid);
        var question = new FutureTask<T>(() -> {
            try {
                return reading.call();
            } finally {
                asked.remove(process);
            }
        });
        try {
            readers.execute(question);
        } catch (RejectedExecutionException e) {
            asked.remove(process);
            throw notAsked();
        } catch (OutOfMemoryError e) {
            asked.remove(process); // what Java says where the machine allows no further thread
            throw new IOException("not asked: " + e.getMessage(), e);
        }
        return answer(question);
    }

    private <T> T answer(FutureTask<T> question) throws IOException {
        var hurried = waitedInVain.get() >= patience.look.toNanos();
        var start = System.nanoTime();
        try {
            return question.get((hurried ? patience.hurried : patience.process).toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            waitedInVain.addAndGet(System.nanoTime() - start);
            throw hurried ? new IOException("there was no time left to wait for its answer") : new NoAnswerException();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("given up: it took too long");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new IllegalStateException(e);
        }
    }

    private boolean hasHadItsShare(long uid) {
        return uid != ROOT
                && asked.values().stream().filter(owner -> owner == uid).count() >= MOST_STUCK_OF_A_USER;
    }

    private static IOException notAsked() {
        return new IOException("not asked: %d other processes do not answer already; end them".formatted(MOST_STUCK));
    }
}
