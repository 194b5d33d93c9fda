package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.SubordinateUids;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
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
        var isPatient = silentNanos.get() < limits.observation.toNanos();
        var limit = isPatient ? limits.call : limits.reduced;
        var call = begin(subject, uid, work);
        try {
            return call.await(limit.toNanos());
        } catch (TimeoutException e) {
            silentNanos.addAndGet(limit.toNanos());
            // After a short wait it is unknown whether it hangs.
            throw isPatient ? UnansweredException.timeout() : UnansweredException.noTime(NO_TIME);
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

    private <T> Call<T> begin(Object subject, @Nullable Long uid, Callable<T> work) throws UnansweredException {
        var pending = threads.pending;
        var call = new Call<>(uid, limits, () -> {
            try {
                return work.call();
            } finally {
                pending.remove(subject);
            }
        });
        synchronized (pending) {
            if (pending.containsKey(subject)) {
                throw UnansweredException.timeout();
            }
            requireShare(pending.values(), threads.limits, uid);
            requireShare(
                    pending.values().stream()
                            .filter(other -> other.limits.equals(limits))
                            .toList(),
                    limits,
                    uid);
            pending.put(subject, call);
        }
        try {
            threads.executor.execute(() -> {
                call.run();
                pending.remove(subject, call); // it was given up before it began
            });
            return call;
        } catch (RejectedExecutionException e) {
            pending.remove(subject);
            throw UnansweredException.tooMany(threads.limits);
        } catch (OutOfMemoryError e) { // Java's error if the machine allows no further thread
            pending.remove(subject);
            throw new UnansweredException(Failure.NO_TIME, "not read: " + e.getMessage(), e);
        }
    }

    private void requireShare(Collection<Call<?>> pending, Limits most, @Nullable Long uid) throws UnansweredException {
        var user = user(uid);
        if (pending.stream().filter(call -> user(call.uid).equals(user)).count() >= most.mostOfUser) {
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
        /** The calls that have not returned, by their subjects. */
        private final Map<Object, Call<?>> pending = Collections.synchronizedMap(new HashMap<>());

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

    private static final class Call<T> extends FutureTask<T> {
        private final @Nullable Long uid;

        private final Limits limits;
        private volatile @Nullable Long begunAt;

        Call(@Nullable Long uid, Limits limits, Callable<T> work) {
            super(work);
            this.uid = uid;
            this.limits = limits;
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
