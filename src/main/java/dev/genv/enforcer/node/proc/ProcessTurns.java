package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.node.proc.ProcFs.Candidate;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The order in which an observation reads processes, and for how long. Users choose how many processes they have, how large their environs
 * are, and how slowly those answer. So the next process is always one of the owner whose processes have taken the least time so far: what
 * one owner has too much of delays only that owner's processes.
 */
public final class ProcessTurns<P> implements Iterator<ProcessTurns.Turn<P>> {
    private final long limit;
    private final LongSupplier nanos;
    private final Map<Object, Owner<P>> owners;
    private @Nullable Owner<P> current;
    private long total;
    private long since;

    /**
     * Creates the order.
     *
     * @param processes those of the same owner are read in this order
     * @param owner returns the owner of a process
     * @param time for all processes together
     * @param nanos as {@link System#nanoTime}
     */
    ProcessTurns(Collection<P> processes, Function<? super P, ?> owner, Duration time, LongSupplier nanos) {
        this.nanos = nanos;
        limit = time.toNanos();
        owners = processes.stream()
                .collect(Collectors.groupingBy(
                        owner,
                        LinkedHashMap::new,
                        Collectors.collectingAndThen(Collectors.toCollection(ArrayDeque::new), Owner::new)));
    }

    /**
     * A process whose turn it is.
     *
     * @param inTime whether time is left for it
     */
    public record Turn<P>(P process, boolean inTime) {}

    /** The processes of one owner that are not read yet, and the time and the number of those that are read. */
    private static final class Owner<P> {
        private final Deque<P> processes;
        private long spent;
        private int read;

        private Owner(Deque<P> processes) {
            this.processes = processes;
        }
    }

    @Override
    public boolean hasNext() {
        return !owners.isEmpty();
    }

    /** Charges the time since the last call to the owner of the process that was returned then. */
    @Override
    public Turn<P> next() {
        var now = nanos.getAsLong();
        if (current != null) {
            current.spent += now - since;
            total += now - since;
        }
        since = now;
        var next = owners.entrySet().stream()
                .min(Comparator.comparingLong((Map.Entry<Object, Owner<P>> entry) -> entry.getValue().spent)
                        .thenComparingInt(entry -> entry.getValue().read))
                .orElseThrow(NoSuchElementException::new);
        current = next.getValue();
        current.read++;
        var process = current.processes.removeFirst();
        if (current.processes.isEmpty()) {
            owners.remove(next.getKey());
        }
        return new Turn<>(process, total < limit);
    }

    /** A search among all processes. Its time is limited, because users choose their number. */
    public abstract static class Search {
        private final ProcFs proc;
        private final Duration time;
        private final LongSupplier nanos;

        /** @param nanos as {@link System#nanoTime} */
        protected Search(ProcFs proc, Duration time, LongSupplier nanos) {
            this.proc = proc;
            this.time = time;
            this.nanos = nanos;
        }

        /** Examines a process. An exception says why it was not examined. */
        protected abstract void examine(Candidate candidate) throws IOException;

        /**
         * Records that a process was not examined.
         *
         * @param uid null if unknown
         * @param why null if the time was used up
         */
        protected abstract void leaveOut(int pid, @Nullable Long uid, @Nullable IOException why);

        /** Whether the other processes need not be examined. */
        protected boolean isOver() {
            return false;
        }

        /**
         * Examines all processes.
         *
         * @param isSkipped whether a process is not examined
         * @param order of those of the same owner
         * @throws IOException if the list of processes cannot be read, or the thread is interrupted
         */
        protected final void examineAll(IntPredicate isSkipped, Comparator<Candidate> order)
                throws IOException, InterruptedException {
            var start = nanos.getAsLong();
            var candidates = candidates(isSkipped, start);
            candidates.sort(order);
            var left = time.minusNanos(nanos.getAsLong() - start);
            var turns = new ProcessTurns<>(
                    candidates,
                    candidate -> Optional.ofNullable(candidate.uid()).map(proc::ownerOf),
                    left,
                    nanos);
            while (turns.hasNext() && !isOver()) {
                var turn = turns.next();
                var candidate = turn.process();
                try {
                    if (turn.inTime()) {
                        examine(candidate);
                    } else {
                        leaveOut(candidate.id().pid(), candidate.uid(), null);
                    }
                } catch (InterruptedIOException e) {
                    throw e;
                } catch (IOException e) {
                    leaveOut(candidate.id().pid(), candidate.uid(), e);
                }
            }
        }

        private List<Candidate> candidates(IntPredicate isSkipped, long start)
                throws IOException, InterruptedException {
            var candidates = new ArrayList<Candidate>();
            // The largest pids are mostly the newest, so a partial list has the newest of each user.
            var pids = proc.pids().stream()
                    .filter(pid -> !isSkipped.test(pid))
                    .sorted(Comparator.reverseOrder())
                    .toList();
            // The other half of the time is for the files of the processes.
            for (var found : proc.each(
                    pids,
                    pid -> nanos.getAsLong() - start < time.toNanos() / 2
                            ? find(pid)
                            : new Found(pid, false, null, null),
                    (pid, why) -> new Found(pid, false, null, why))) {
                if (!found.isRead) {
                    leaveOut(found.pid, null, found.why);
                } else if (found.candidate != null) {
                    candidates.add(found.candidate);
                }
            }
            return candidates;
        }

        /**
         * A process of the list.
         *
         * @param candidate null if it was not read, has exited, or is a thread of the kernel
         * @param why it was not read; null if the time was used up
         */
        private record Found(
                int pid,
                boolean isRead,
                @Nullable Candidate candidate,
                @Nullable IOException why) {}

        private Found find(int pid) {
            try {
                return new Found(pid, true, proc.candidate(pid).orElse(null), null);
            } catch (IOException e) {
                return new Found(pid, false, null, e); // for example with hidepid=1, for a service that is not root
            }
        }
    }
}
