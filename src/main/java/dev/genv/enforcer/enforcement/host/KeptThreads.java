package dev.genv.enforcer.enforcement.host;

import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Platform threads for tasks that may never return. Such a task keeps its thread, and the next one gets another. A thread whose task
 * returned is kept for the next cycle, because a new thread costs more than most tasks.
 */
public final class KeptThreads {
    /** Longer than the usual interval. */
    public static final long IDLE_SECONDS = 60;

    private KeptThreads() {}

    /** Returns daemon threads with this name. The caller limits their number. */
    public static Executor named(String name) {
        return named(name, Integer.MAX_VALUE);
    }

    /** The same with a limit, above which {@code execute} throws a {@link java.util.concurrent.RejectedExecutionException}. */
    public static Executor named(String name, int most) {
        return new ThreadPoolExecutor(
                0,
                most,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                work -> Thread.ofPlatform().daemon().name(name).unstarted(work));
    }
}
