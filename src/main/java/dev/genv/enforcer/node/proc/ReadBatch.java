package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Items that one thread reads in their order, while another thread waits for it and abandons it if a read does not answer. Then the
 * next thread repeats that item and continues.
 */
final class ReadBatch<I, T> {
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
