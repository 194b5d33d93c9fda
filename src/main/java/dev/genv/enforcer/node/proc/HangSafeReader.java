package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.enforcement.host.KeptThreads;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads files of {@code /proc} whose content the kernel reads from the memory of the process. A process can map that memory from its
 * own file system that never answers, and then the read never ends. So these reads run on threads that can be abandoned. The reads of
 * a batch share one thread until one of them does not answer.
 */
final class HangSafeReader {
    /** The largest number of abandoned threads. */
    static final int MAX_STUCK = 64;
    /** The largest number of one user, so that one user cannot use all of them. Root is a user too, although it may be several in containers. */
    static final int MAX_STUCK_PER_USER = 8;

    static final String NO_TIME = "no time was left to wait for its answer";

    /** Threads that have just answered and are not yet free. */
    private static final int EXTRA_THREADS = 16;

    private final ReadTimeouts timeouts;
    private final Map<ProcessId, Long> pending = new ConcurrentHashMap<>();
    private final Executor readers = KeptThreads.named("reads-process-memory", MAX_STUCK + EXTRA_THREADS);
    private final AtomicLong timedOutNanos = new AtomicLong();
    private volatile SubordinateUids subordinateUids = SubordinateUids.NONE;
    /** That of the current thread, if it reads a batch. */
    private final ScopedValue<ReadBatch<?, ?>.Turn> turns = ScopedValue.newInstance();

    HangSafeReader(ReadTimeouts timeouts) {
        this.timeouts = timeouts;
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

    /** From now on, the processes of these uids count as their owner's. */
    void setSubordinateUids(SubordinateUids known) {
        subordinateUids = known;
    }

    /** Returns the uid of the account to which a subordinate uid belongs; another uid is returned unchanged. */
    long ownerOf(long uid) {
        return Objects.requireNonNull(subordinateUids.ownerOf(uid));
    }

    /**
     * Reads several items one after another on one thread. If a process does not answer, its item is repeated without its memory, and
     * the others follow, on another thread.
     *
     * @param reading may call {@link #read}
     * @return the results in this order
     * @throws InterruptedException if the thread is interrupted; then no further item is read
     */
    <I, T> List<T> readAll(Iterable<I> items, Function<I, T> reading) throws InterruptedException {
        var batch = new ReadBatch<>(items.iterator(), reading);
        try {
            start(batch);
            while (true) {
                var reduced = timedOutNanos.get() >= timeouts.observation.toNanos();
                var waited = batch.await(reduced ? timeouts.reduced : timeouts.process);
                if (waited.isZero()) {
                    return batch.results();
                }
                timedOutNanos.addAndGet(waited.toNanos());
                batch.abandon(reduced ? new NotReadException(NO_TIME) : new ReadTimeoutException());
                start(batch);
            }
        } finally {
            batch.abandon(new ReadTimeoutException());
        }
    }

    private void start(ReadBatch<?, ?> batch) {
        var turn = batch.turn();
        Runnable work = () -> ScopedValue.where(turns, turn).run(turn);
        try {
            readers.execute(work);
        } catch (RejectedExecutionException e) {
            batch.refuse(skipped());
            work.run();
        } catch (OutOfMemoryError e) { // Java's error if the machine allows no further thread
            batch.refuse(new NotReadException("not read: " + e.getMessage()));
            work.run();
        }
    }

    /**
     * Reads a file of a process.
     *
     * @param uid its real uid
     * @throws ReadTimeoutException if there is no answer; the process is not read again before the last read has returned
     * @throws IOException if it cannot be read, for any other reason too
     */
    <T> T read(ProcessId process, long uid, Callable<T> reading) throws IOException {
        if (turns.isBound()) {
            return readHere(turns.get(), process, uid, reading);
        }
        try {
            return readAll(List.of(reading), one -> {
                        var attempt = new FutureTask<>(() -> read(process, uid, one));
                        attempt.run();
                        return attempt;
                    })
                    .getFirst()
                    .get();
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

    private <T> T readHere(ReadBatch<?, ?>.Turn turn, ProcessId process, long uid, Callable<T> reading)
            throws IOException {
        turn.require(process);
        if (pending.containsKey(process)) {
            throw new ReadTimeoutException();
        }
        var owner = ownerOf(uid);
        var unanswered = pending.values().stream().filter(other -> ownerOf(other) == owner);
        if (unanswered.count() >= MAX_STUCK_PER_USER) {
            throw new NotReadException(
                    "not read: %d other processes of its user do not answer".formatted(MAX_STUCK_PER_USER));
        }
        if (pending.size() >= MAX_STUCK) {
            throw skipped();
        }
        pending.put(process, uid);
        turn.setRunning(process);
        try {
            return reading.call();
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            pending.remove(process);
            turn.setRunning(null);
        }
    }

    private static IOException skipped() {
        return new NotReadException(
                "not read: %d other processes already do not answer; terminate them".formatted(MAX_STUCK));
    }

    /** A process was not read, because no time or no thread was left. */
    static final class NotReadException extends IOException {
        private static final long serialVersionUID = 1L;

        NotReadException(String message) {
            super(message);
        }
    }

    /**
     * Items that one thread reads in their order, while another thread waits for it and abandons it if a read does not answer. Then the
     * next thread repeats that item and continues.
     */
    private static final class ReadBatch<I, T> {
        private final Iterator<I> items;
        private final Function<I, T> reading;
        private final List<T> results = new ArrayList<>();
        private final Map<ProcessId, IOException> unanswered = new HashMap<>();
        private Turn current = new Turn();
        /** The item that is being read. */
        private @Nullable I item;

        private boolean isDone;
        private @Nullable Running running;
        private @Nullable IOException refusal;
        private @Nullable Throwable failure;

        /** @param items each is asked for when the one before it is read */
        ReadBatch(Iterator<I> items, Function<I, T> reading) {
            this.items = items;
            this.reading = reading;
            isDone = !items.hasNext();
        }

        /** A read that may hang. */
        private record Running(ProcessId process, long since) {}

        /** The work of one thread. After it was abandoned, nothing that it does counts. */
        final class Turn implements Runnable {
            @Override
            public void run() {
                try {
                    for (var next = next(); next != null; next = next()) {
                        add(reading.apply(next));
                    }
                } catch (RuntimeException | Error e) {
                    synchronized (ReadBatch.this) {
                        if (this == current) {
                            failure = e;
                            ReadBatch.this.notifyAll();
                        }
                    }
                }
            }

            private @Nullable I next() {
                synchronized (ReadBatch.this) {
                    if (this != current) {
                        return null;
                    }
                    if (item == null && items.hasNext()) {
                        item = items.next();
                    }
                    return item;
                }
            }

            private void add(T result) {
                synchronized (ReadBatch.this) {
                    if (this == current) {
                        results.add(result);
                        item = null;
                        isDone = !items.hasNext();
                        if (isDone) {
                            ReadBatch.this.notifyAll();
                        }
                    }
                }
            }

            /**
             * Requires that a process may be read.
             *
             * @throws IOException if it did not answer before, or if this turn was abandoned
             */
            void require(ProcessId process) throws IOException {
                synchronized (ReadBatch.this) {
                    if (this != current) {
                        throw new ReadTimeoutException();
                    }
                    var why = refusal == null ? unanswered.get(process) : refusal;
                    if (why != null) {
                        throw why;
                    }
                }
            }

            /** Begins a read that may hang; null ends it. */
            void setRunning(@Nullable ProcessId process) {
                synchronized (ReadBatch.this) {
                    if (this == current) {
                        running = process == null ? null : new Running(process, System.nanoTime());
                    }
                }
            }
        }

        synchronized Turn turn() {
            return current;
        }

        /** Waits until every item is read. Returns how long a read has not answered by then; zero if every item is read. */
        synchronized Duration await(Duration limit) throws InterruptedException {
            while (failure == null && !isDone) {
                var waited = running == null ? 0 : System.nanoTime() - running.since;
                if (waited >= limit.toNanos()) {
                    return Duration.ofNanos(waited);
                }
                TimeUnit.NANOSECONDS.timedWait(this, limit.toNanos() - waited);
            }
            return Duration.ZERO;
        }

        /** Abandons the turn, and the read that does not answer. */
        synchronized void abandon(IOException why) {
            if (running != null) {
                unanswered.put(running.process, why);
            }
            running = null;
            current = new Turn();
        }

        /** Lets every further read that may hang fail. */
        synchronized void refuse(IOException why) {
            refusal = why;
        }

        synchronized List<T> results() {
            return switch (failure) {
                case null -> List.copyOf(results);
                case RuntimeException e -> throw e;
                case Error e -> throw e;
                default -> throw new IllegalStateException(failure);
            };
        }
    }
}
