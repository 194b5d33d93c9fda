package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.SubordinateUids;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes calls that may never return. The kernel reads some files of {@code /proc} from the memory of the process, and a process can map that
 * memory from its own file system that never answers. The file system of the state directory may not answer either. So each call runs on a
 * thread that can be abandoned.
 */
public final class Hangable {
    public static final String NO_TIME = "no time was left to wait for its answer";

    /** Threads that have just answered and are not yet free. */
    private static final int EXTRA_THREADS = 16;
    /** Longer than the usual interval: a thread whose call returned is kept for the next cycle. */
    private static final long KEPT_SECONDS = 60;

    /** A call of several is given up after so many waits, and not after one: the machine may have been suspended meanwhile. */
    private static final int WAITS = 8;

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

        /** For the stats of processes, which are read also if all threads for their memory wait. */
        static final Limits STATS = new Limits(128, 4, LISTED.call, LISTED.observation, LISTED.reduced);

        /** For calls that share no time with others. */
        public Limits(int most, Duration call) {
            this(most, most, call, call, call);
        }
    }

    /** A call was not made, or it did not answer. */
    public static final class UnansweredException extends IOException {
        private static final long serialVersionUID = 1L;

        private final Failure failure;

        private UnansweredException(Failure failure, String message, @Nullable Throwable cause) {
            super(message, cause);
            this.failure = failure;
        }

        private static UnansweredException timeout() {
            return new UnansweredException(Failure.TIMEOUT, "it does not answer", null);
        }

        private static UnansweredException noTime(String message) {
            return new UnansweredException(Failure.NO_TIME, message, null);
        }

        private static UnansweredException tooMany(Limits limits) {
            return noTime("not read: %d other processes already do not answer; terminate them".formatted(limits.most));
        }

        public static boolean isTimeout(IOException error) {
            return error instanceof UnansweredException unanswered && unanswered.failure == Failure.TIMEOUT;
        }

        /** {@link Failure#TIMEOUT}, or {@link Failure#NO_TIME} if no time or no thread was left for it. */
        public Failure failure() {
            return failure;
        }
    }

    void beginObservation() {
        silentNanos.set(0);
    }

    void setSubordinateUids(SubordinateUids known) {
        threads.subordinateUids = known;
    }

    long ownerOf(long uid) {
        return threads.subordinateUids.ownerOf(uid);
    }

    /** All whose uid is unknown count as one user. */
    private Optional<Long> user(@Nullable Long uid) {
        return Optional.ofNullable(uid).map(this::ownerOf);
    }

    /**
     * Makes a call. If there is no answer in time, its thread is interrupted: what it would still do must not happen.
     *
     * @param subject what it waits for, such as a process; no other call is made for it before this one has returned
     * @param uid of the user who can keep it from returning; null if unknown
     * @throws UnansweredException if there is no answer in time, or if no call is made
     * @throws IOException if the call throws it
     */
    public <T> T call(Object subject, @Nullable Long uid, Callable<T> work) throws IOException, InterruptedException {
        var isPatient = isPatient();
        var limit = limit(isPatient);
        var call = begin(subject, uid, work);
        try {
            return call.await(limit);
        } catch (TimeoutException e) {
            throw silent(limit, isPatient);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case IOException cause -> throw cause;
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw new IllegalStateException(e);
            }
        } finally {
            call.cancel(true);
        }
    }

    private boolean isPatient() {
        return silentNanos.get() < limits.observation.toNanos();
    }

    private long limit(boolean isPatient) {
        return (isPatient ? limits.call : limits.reduced).toNanos();
    }

    private UnansweredException silent(long limit, boolean isPatient) {
        silentNanos.addAndGet(limit);
        // After a short wait it is unknown whether it hangs.
        return isPatient ? UnansweredException.timeout() : UnansweredException.noTime(NO_TIME);
    }

    /**
     * Makes a call for each subject, in this order. One thread makes them all as long as they answer; where one does not, another thread goes
     * on with the next one, and what the first one would still return is dropped.
     *
     * @param uid returns who can keep a call from returning, or null if that is unknown. It is asked only if some call does not answer
     * @param work must not throw, and must change nothing that the caller uses
     * @param unanswered returns the result of a call that was not made, or that did not answer in time
     */
    public <S, T> List<T> callEach(
            List<S> subjects,
            Function<S, @Nullable Long> uid,
            Function<S, T> work,
            BiFunction<S, UnansweredException, T> unanswered)
            throws InterruptedException {
        var results = new ArrayList<T>(subjects.size());
        while (results.size() < subjects.size()) {
            var batch = new Batch<>(subjects.subList(results.size(), subjects.size()), uid, work, unanswered);
            var why = batch.await();
            results.addAll(batch.results);
            if (why != null) {
                results.add(unanswered.apply(subjects.get(results.size()), why));
            }
        }
        return results;
    }

    /** The calls for several subjects on one thread. */
    private final class Batch<S, T> {
        private final List<S> subjects;
        private final Function<S, @Nullable Long> uid;
        private final Function<S, T> work;
        private final BiFunction<S, UnansweredException, T> unanswered;
        private final List<T> results = new ArrayList<>();
        private @Nullable Throwable failure;
        private boolean hasBegun;
        private boolean isOver;

        Batch(
                List<S> subjects,
                Function<S, @Nullable Long> uid,
                Function<S, T> work,
                BiFunction<S, UnansweredException, T> unanswered) {
            this.subjects = subjects;
            this.uid = uid;
            this.work = work;
            this.unanswered = unanswered;
        }

        /** Waits for the results. Returns why the subject after them has none; null if all have one. */
        @Nullable
        UnansweredException await() throws InterruptedException {
            try {
                execute(this::run);
            } catch (UnansweredException e) {
                return e;
            }
            return awaitResults();
        }

        private synchronized @Nullable UnansweredException awaitResults() throws InterruptedException {
            var answered = 0;
            var waits = 0;
            try {
                while (!isOver) {
                    var isPatient = isPatient();
                    var pause = limit(isPatient) / WAITS;
                    TimeUnit.NANOSECONDS.timedWait(this, pause);
                    // On a slow machine, its thread may begin late.
                    if (!hasBegun || results.size() > answered || isOver) {
                        answered = results.size();
                        waits = 0;
                    } else if (++waits < WAITS) {
                        silentNanos.addAndGet(pause); // also of a call that answers later
                    } else {
                        return silent(pause, isPatient);
                    }
                }
            } finally {
                isOver = true;
            }
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
            return null;
        }

        private void run() {
            try {
                begin();
                for (var subject : subjects) {
                    if (!add(answer(subject))) {
                        return;
                    }
                }
                end(null);
            } catch (RuntimeException | Error e) {
                end(e);
            }
        }

        private T answer(S subject) {
            var user = new User(() -> uid.apply(subject), limits);
            try {
                enter(subject, user);
                try {
                    return work.apply(subject);
                } finally {
                    leave(subject, user);
                }
            } catch (UnansweredException e) {
                return unanswered.apply(subject, e);
            }
        }

        private synchronized void begin() {
            hasBegun = true;
        }

        /** Returns whether somebody still waits for the results. */
        private synchronized boolean add(T result) {
            if (isOver) {
                return false;
            }
            results.add(result);
            return true;
        }

        private synchronized void end(@Nullable Throwable why) {
            failure = why;
            isOver = true;
            notifyAll();
        }
    }

    private <T> Call<T> begin(Object subject, @Nullable Long uid, Callable<T> work) throws UnansweredException {
        var user = new User(() -> uid, limits);
        enter(subject, user);
        var call = new Call<>(() -> {
            try {
                return work.call();
            } finally {
                leave(subject, user);
            }
        });
        try {
            execute(() -> {
                call.run();
                leave(subject, user); // it was given up before it began
            });
            return call;
        } catch (UnansweredException e) {
            leave(subject, user);
            throw e;
        }
    }

    private void execute(Runnable task) throws UnansweredException {
        try {
            threads.executor.execute(task);
        } catch (RejectedExecutionException e) {
            throw UnansweredException.tooMany(threads.limits);
        } catch (OutOfMemoryError e) { // Java's error if the machine allows no further thread
            throw new UnansweredException(Failure.NO_TIME, "not read: " + e.getMessage(), e);
        }
    }

    private void enter(Object subject, User user) throws UnansweredException {
        var pending = threads.pending;
        synchronized (pending) {
            if (pending.containsKey(subject)) {
                throw UnansweredException.timeout();
            }
            if (!pending.isEmpty()) {
                requireShare(pending.values(), threads.limits, user);
                requireShare(
                        pending.values().stream()
                                .filter(other -> other.limits.equals(limits))
                                .toList(),
                        limits,
                        user);
            }
            pending.put(subject, user);
        }
    }

    private void leave(Object subject, User user) {
        threads.pending.remove(subject, user);
    }

    private void requireShare(Collection<User> pending, Limits most, User caller) throws UnansweredException {
        var user = user(caller.uid());
        if (pending.stream().filter(call -> user(call.uid()).equals(user)).count() >= most.mostOfUser) {
            throw UnansweredException.noTime(
                    "not read: %d other processes of its user do not answer".formatted(most.mostOfUser));
        }
        if (pending.size() >= most.most) {
            throw UnansweredException.tooMany(most);
        }
    }

    /** The threads, and the calls that run on them. */
    private static final class Threads {
        private final Executor executor;
        private final Limits limits;
        /** The users for whose calls no answer has come yet, by their subjects. */
        private final Map<Object, User> pending = Collections.synchronizedMap(new HashMap<>());

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
    }

    /** Who can keep a call from returning. */
    private static final class User {
        private final Supplier<@Nullable Long> reader;
        private final Limits limits;
        private boolean isRead;
        private @Nullable Long uid;

        /** @param limits of the kind of the call */
        User(Supplier<@Nullable Long> reader, Limits limits) {
            this.reader = reader;
            this.limits = limits;
        }

        /** Returns the uid, or null if it is unknown. It is read once, under the lock of the pending calls: each call compares it with all of these. */
        @Nullable
        Long uid() {
            if (!isRead) {
                uid = reader.get();
                isRead = true;
            }
            return uid;
        }
    }

    private static final class Call<T> extends FutureTask<T> {
        private volatile @Nullable Long begunAt;

        Call(Callable<T> work) {
            super(work);
        }

        @Override
        public void run() {
            begunAt = System.nanoTime();
            super.run();
        }

        /** Waits for the result. On a slow machine, its thread may begin late. */
        T await(long nanos) throws ExecutionException, InterruptedException, TimeoutException {
            while (true) {
                var begun = begunAt;
                try {
                    return get(begun == null ? nanos : begun + nanos - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (TimeoutException e) {
                    if (begun != null) {
                        throw e;
                    }
                }
            }
        }
    }
}
