package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.SubordinateUids;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Makes calls that may never return. The kernel reads some files of {@code /proc} from the memory of the process, and a process can map that
 * memory from its own file system that never answers. The file system of the state directory may not answer either. So these calls run on
 * threads that can be abandoned. Calls that are made together share one thread until one of them does not answer.
 */
public final class Hangable {
    public static final String NO_TIME = "no time was left to wait for its answer";

    /** Threads that have just answered and are not yet free. */
    private static final int EXTRA_THREADS = 16;
    /** Longer than the usual interval: a thread whose call returned is kept for the next cycle. */
    private static final long KEPT_SECONDS = 60;

    private final Threads threads;
    private final Limits limits;
    private final AtomicLong silentNanos = new AtomicLong();

    /** @param name of its threads */
    public Hangable(String name, Limits limits) {
        this(new Threads(name, limits), limits);
    }

    private Hangable(Threads threads, Limits limits) {
        this.threads = threads;
        this.limits = limits;
    }

    /** Returns the same threads for calls of another kind, which have these limits besides those of all calls together. */
    public Hangable with(Limits ofKind) {
        return new Hangable(threads, ofKind);
    }

    /**
     * The limits of calls of one kind.
     *
     * @param most the number of calls that do not answer above which none is made
     * @param mostOfUser the same for those of one user, so that no user can use all threads. Root is a user too, although it may be several
     *     in containers.
     * @param call the time for one call
     * @param observation the time for all calls of one observation that do not answer, together
     * @param reduced the time for one call after that time is used up
     */
    public record Limits(int most, int mostOfUser, Duration call, Duration observation, Duration reduced) {
        /** For the processes that the GPU tool lists. */
        static final Limits LISTED =
                new Limits(64, 8, Duration.ofSeconds(1), Duration.ofSeconds(4), Duration.ofMillis(50));
        /** For searches among all processes, of which users have any number: they leave half of the threads for the listed ones. */
        static final Limits SEARCHED =
                new Limits(LISTED.most / 2, LISTED.mostOfUser / 2, LISTED.call, LISTED.observation, LISTED.reduced);

        /** For calls that share no time with others. */
        public Limits(int most, Duration call) {
            this(most, most, call, call, call);
        }
    }

    /** A call was not made, or it did not answer. */
    public static final class UnansweredException extends IOException {
        private static final long serialVersionUID = 1L;

        private final Failure failure;

        UnansweredException(Failure failure, String message) {
            super(message);
            this.failure = failure;
        }

        static UnansweredException timeout() {
            return new UnansweredException(Failure.TIMEOUT, "it does not answer");
        }

        /** Whether there was no answer in time. */
        public static boolean isTimeout(IOException error) {
            return error instanceof UnansweredException unanswered && unanswered.failure == Failure.TIMEOUT;
        }

        /** {@link Failure#TIMEOUT}, or {@link Failure#NO_TIME} if no time or no thread was left for it. */
        public Failure failure() {
            return failure;
        }
    }

    /** Begins an observation with its whole time limit. */
    void beginObservation() {
        silentNanos.set(0);
    }

    /** From now on, the calls for these uids count as their owner's. */
    void setSubordinateUids(SubordinateUids known) {
        threads.subordinateUids = known;
    }

    /** Returns the uid of the account to which a subordinate uid belongs; another uid is returned unchanged. */
    long ownerOf(long uid) {
        return threads.ownerOf(uid);
    }

    /**
     * Makes a call.
     *
     * @param subject what it waits for, such as a process; no other call is made for it before this one has returned
     * @param uid of the user who can keep it from returning
     * @throws UnansweredException if there is no answer in time, or if no call is made
     * @throws IOException if the call throws it
     */
    public <T> T call(Object subject, long uid, Callable<T> work) throws IOException, InterruptedException {
        if (threads.turns.isBound()) {
            return callHere(threads.turns.get(), subject, uid, work);
        }
        try {
            return callAll(List.of(work), one -> {
                        var attempt = new FutureTask<>(() -> call(subject, uid, one));
                        attempt.run();
                        return attempt;
                    })
                    .getFirst()
                    .get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new IllegalStateException(e);
        }
    }

    /**
     * Does several pieces of work one after another on one thread. If a call does not answer, its piece is repeated without that call, and the
     * others follow, on another thread.
     *
     * @param items each is asked for when the one before it is done
     * @param work may use {@link #call}
     * @return the results in this order
     * @throws InterruptedException if the thread is interrupted; then no further work is done
     */
    <I, T> List<T> callAll(Iterable<I> items, Function<I, T> work) throws InterruptedException {
        var batch = new Batch<>(items.iterator(), work);
        while (true) {
            var turn = batch.new Turn();
            var task = start(turn);
            try {
                if (await(turn, task)) {
                    return batch.results;
                }
            } catch (ExecutionException e) {
                throw unchecked(Objects.requireNonNullElse(e.getCause(), e));
            } finally {
                turn.abandon();
                task.cancel(true);
            }
        }
    }

    private FutureTask<?> start(Batch<?, ?>.Turn turn) {
        var task = new FutureTask<>(() -> ScopedValue.where(threads.turns, turn).run(turn), null);
        try {
            threads.executor.execute(task);
        } catch (RejectedExecutionException e) {
            turn.refusal = tooMany(threads.limits);
            task.run();
        } catch (OutOfMemoryError e) { // Java's error if the machine allows no further thread
            turn.refusal = new UnansweredException(Failure.NO_TIME, "not read: " + e.getMessage());
            turn.refusal.initCause(e);
            task.run();
        }
        return task;
    }

    /** Waits for the end of all work; returns false if a call does not answer. */
    private boolean await(Batch<?, ?>.Turn turn, FutureTask<?> task) throws ExecutionException, InterruptedException {
        var isPatient = silentNanos.get() < limits.observation.toNanos();
        var limit = (isPatient ? limits.call : limits.reduced).toNanos();
        var waited = 0L;
        while (waited < limit) {
            try {
                task.get(limit - waited, TimeUnit.NANOSECONDS);
                return true;
            } catch (TimeoutException e) {
                waited = turn.abandonCall(limit, isPatient); // the present call may have begun later
            }
        }
        silentNanos.addAndGet(waited);
        return false;
    }

    private <T> T callHere(Batch<?, ?>.Turn turn, Object subject, long uid, Callable<T> work) throws IOException {
        turn.require(subject);
        begin(subject, uid);
        turn.setCall(subject);
        try {
            return work.call();
        } catch (IOException e) {
            throw e;
        } catch (Exception e) {
            throw unchecked(e);
        } finally {
            threads.pending.remove(subject);
            turn.setCall(null);
        }
    }

    private void begin(Object subject, long uid) throws UnansweredException {
        synchronized (threads.pending) {
            if (threads.pending.containsKey(subject)) {
                throw UnansweredException.timeout();
            }
            var all = threads.pending.values();
            requireShare(all, threads.limits, uid);
            requireShare(all.stream().filter(call -> call.limits.equals(limits)).toList(), limits, uid);
            threads.pending.put(subject, new Pending(uid, limits));
        }
    }

    private void requireShare(Collection<Pending> pending, Limits most, long uid) throws UnansweredException {
        var owner = ownerOf(uid);
        if (pending.stream().filter(call -> ownerOf(call.uid) == owner).count() >= most.mostOfUser) {
            throw new UnansweredException(
                    Failure.NO_TIME,
                    "not read: %d other processes of its user do not answer".formatted(most.mostOfUser));
        }
        if (pending.size() >= most.most) {
            throw tooMany(most);
        }
    }

    private static UnansweredException tooMany(Limits limits) {
        return new UnansweredException(
                Failure.NO_TIME,
                "not read: %d other processes already do not answer; terminate them".formatted(limits.most));
    }

    private static RuntimeException unchecked(Throwable cause) {
        return switch (cause) {
            case RuntimeException e -> e;
            case Error e -> throw e;
            default -> new IllegalStateException(cause);
        };
    }

    /** The threads, and the calls that run on them. */
    private static final class Threads {
        private final Executor executor;
        private final Limits limits;
        /** The calls that have not returned, by their subjects. */
        private final Map<Object, Pending> pending = Collections.synchronizedMap(new HashMap<>());
        /** That of the current thread. */
        private final ScopedValue<Batch<?, ?>.Turn> turns = ScopedValue.newInstance();

        private volatile SubordinateUids subordinateUids = SubordinateUids.NONE;

        /** @param limits of all calls together */
        Threads(String name, Limits limits) {
            executor = new ThreadPoolExecutor(
                    0,
                    limits.most + EXTRA_THREADS,
                    KEPT_SECONDS,
                    TimeUnit.SECONDS,
                    new SynchronousQueue<>(),
                    Thread.ofPlatform().daemon().name(name).factory());
            this.limits = limits;
        }

        long ownerOf(long uid) {
            return Objects.requireNonNull(subordinateUids.ownerOf(uid));
        }
    }

    private record Pending(long uid, Limits limits) {}

    /** Items with which one thread at a time works. If it is abandoned, the next thread repeats the item and continues. */
    private static final class Batch<I, T> {
        private final Iterator<I> items;
        private final Function<I, T> work;
        private final List<T> results = new ArrayList<>();
        private final Map<Object, UnansweredException> unanswered = new HashMap<>();
        /** The item that is not done yet. */
        private @Nullable I item;

        Batch(Iterator<I> items, Function<I, T> work) {
            this.items = items;
            this.work = work;
        }

        /** The work of one thread. After it was abandoned, nothing that it does counts. */
        final class Turn implements Runnable {
            private volatile @Nullable UnansweredException refusal;
            private @Nullable Object subject;
            private long since;
            private boolean isAbandoned;

            @Override
            public void run() {
                for (var next = next(); next != null; next = next()) {
                    add(work.apply(next));
                }
            }

            private @Nullable I next() {
                synchronized (Batch.this) {
                    if (isAbandoned) {
                        return null;
                    }
                    if (item == null && items.hasNext()) {
                        item = items.next();
                    }
                    return item;
                }
            }

            private void add(T result) {
                synchronized (Batch.this) {
                    if (!isAbandoned) {
                        results.add(result);
                        item = null;
                    }
                }
            }

            /** Requires that a call may be made: not after its subject did not answer, or after this turn was abandoned. */
            void require(Object wanted) throws UnansweredException {
                synchronized (Batch.this) {
                    var why = isAbandoned ? UnansweredException.timeout() : refusal;
                    why = why == null ? unanswered.get(wanted) : why;
                    if (why != null) {
                        throw why;
                    }
                }
            }

            /** Begins a call; null ends it. */
            void setCall(@Nullable Object begun) {
                synchronized (Batch.this) {
                    subject = begun;
                    since = System.nanoTime();
                }
            }

            /**
             * Abandons this turn if its call has not answered for that long. Returns for how long it has not, in nanoseconds.
             *
             * @param isPatient whether that is long enough to say that it does not answer
             */
            long abandonCall(long limit, boolean isPatient) {
                synchronized (Batch.this) {
                    var waited = subject == null ? 0 : System.nanoTime() - since;
                    if (waited >= limit) {
                        unanswered.put(
                                subject,
                                isPatient
                                        ? UnansweredException.timeout()
                                        : new UnansweredException(Failure.NO_TIME, NO_TIME));
                        isAbandoned = true;
                    }
                    return waited;
                }
            }

            void abandon() {
                synchronized (Batch.this) {
                    isAbandoned = true;
                }
            }
        }
    }

    /**
     * The order in which an observation reads processes, and for how long. Users choose how many processes they have, how large their environs
     * are, and how slowly those answer. So the next process is always one of the owner whose processes have taken the least time so far: what
     * one owner has too much of delays only that owner's processes.
     */
    public static final class ReadingOrder<P> implements Iterator<ReadingOrder.Turn<P>> {
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
        public ReadingOrder(Collection<P> processes, Function<? super P, ?> owner, Duration time, LongSupplier nanos) {
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
    }
}
