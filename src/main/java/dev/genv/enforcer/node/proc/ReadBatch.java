package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
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
    private final List<I> items;
    private final Function<I, T> reading;
    private final List<T> results = new ArrayList<>();
    private final Map<ProcessId, IOException> unanswered = new HashMap<>();
    private Turn current = new Turn();
    private @Nullable Running running;
    private @Nullable IOException refusal;
    private @Nullable Throwable failure;

    ReadBatch(List<I> items, Function<I, T> reading) {
        this.items = items;
        this.reading = reading;
    }

    /** A read that may hang. */
    private record Running(ProcessId process, long since) {}

    /** The work of one thread. After it was abandoned, nothing that it does counts. */
    final class Turn implements Runnable {
        @Override
        public void run() {
            try {
                for (var item = next(this); item != null; item = next(this)) {
                    add(this, reading.apply(item));
                }
            } catch (RuntimeException | Error e) {
                fail(this, e);
            }
        }

        /**
         * Requires that a process may be read.
         *
         * @throws IOException if it did not answer before, or if this turn was abandoned
         */
        void require(ProcessId process) throws IOException {
            ReadBatch.this.require(this, process);
        }

        /** Begins a read that may hang. */
        void begin(ProcessId process) {
            setRunning(this, new Running(process, System.nanoTime()));
        }

        void end() {
            setRunning(this, null);
        }
    }

    synchronized Turn turn() {
        return current;
    }

    /** Waits until every item is read. Returns how long a read has not answered by then; zero if every item is read. */
    synchronized Duration await(Duration limit) throws InterruptedException {
        while (failure == null && results.size() < items.size()) {
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

    private synchronized @Nullable I next(Turn turn) {
        return turn == current && results.size() < items.size() ? items.get(results.size()) : null;
    }

    private synchronized void add(Turn turn, T result) {
        if (turn == current) {
            results.add(result);
            if (results.size() == items.size()) {
                notifyAll();
            }
        }
    }

    private synchronized void fail(Turn turn, Throwable why) {
        if (turn == current) {
            failure = why;
            notifyAll();
        }
    }

    private synchronized void require(Turn turn, ProcessId process) throws IOException {
        if (turn != current) {
            throw new ReadTimeoutException();
        }
        var why = refusal == null ? unanswered.get(process) : refusal;
        if (why != null) {
            throw why;
        }
    }

    private synchronized void setRunning(Turn turn, @Nullable Running read) {
        if (turn == current) {
            running = read;
        }
    }
}
