package dev.genv.enforcer.enforcement.host;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;

/**
 * Runs one task on each of several hosts at the same time, and waits for all results up to a time limit. A host whose last task of
 * this kind failed is waited for only briefly, because the other hosts would wait for it in every cycle. Its task continues, and once
 * it succeeds, the next cycle waits for the host again.
 */
public final class HostTasks<T> {
    /** The share of the time limit for a host whose last task failed. */
    private static final int SUSPECT_HOST_DIVISOR = 10;

    private final HostWorker.Kind kind;
    private final Duration timeout;
    private final Ticker ticker;
    private final long start;
    private final List<Task<T>> tasks = new ArrayList<>();

    private sealed interface Task<T> {
        /** Whether the host's last task of this kind failed. */
        boolean suspect();

        record Started<T>(String host, boolean suspect, HostWorker.Pending<T> pending) implements Task<T> {}

        record Refused<T>(String host, boolean suspect, UnreachableException why) implements Task<T> {}
    }

    /** Begins; the time limit for all hosts together counts from now on. */
    public HostTasks(HostWorker.Kind kind, Duration timeout, Ticker ticker) {
        this.kind = kind;
        this.timeout = timeout;
        this.ticker = ticker;
        start = ticker.mark();
    }

    /**
     * Starts the task of one host.
     *
     * @return false if it was refused and will never run
     */
    public boolean start(HostWorker worker, Callable<T> work) {
        var host = worker.host().name();
        var suspect = worker.failure(kind) != null;
        try {
            tasks.add(new Task.Started<>(host, suspect, worker.start(kind, work)));
            return true;
        } catch (UnreachableException e) {
            tasks.add(new Task.Refused<>(host, suspect, e));
            return false;
        }
    }

    /** Whether the last task of any of the hosts succeeded. */
    boolean hasReliableHost() {
        return tasks.stream().anyMatch(task -> !task.suspect());
    }

    /**
     * Waits for the results, for those of suspect hosts last. A task is abandoned at the time limit,
     * except that of a suspect host if others wait.
     *
     * @param othersWait whether other hosts wait for these, so that the wait for suspect ones must be brief
     * @return the answers in the order of the starts
     */
    public List<HostAnswer<T>> await(boolean othersWait) throws InterruptedException {
        var answers = new HashMap<Task<T>, HostAnswer<T>>();
        for (var task : tasks) {
            if (!task.suspect() || !othersWait) {
                answers.put(task, await(task, timeout, true));
            }
        }
        for (var task : tasks) {
            if (task.suspect() && othersWait) {
                answers.put(task, await(task, timeout.dividedBy(SUSPECT_HOST_DIVISOR), false));
            }
        }
        return tasks.stream()
                .map(task -> Objects.requireNonNull(answers.get(task)))
                .toList();
    }

    private HostAnswer<T> await(Task<T> task, Duration most, boolean giveUp) throws InterruptedException {
        return switch (task) {
            case Task.Refused<T>(var host, var _, var why) -> new HostAnswer.Failed<>(host, why, ticker.since(start));
            case Task.Started<T>(var host, var _, var pending) -> {
                try {
                    var left = remaining(most);
                    yield new HostAnswer.Answered<>(
                            host, giveUp ? pending.await(left) : pending.awaitWithoutAbandoning(left));
                } catch (UnreachableException e) {
                    yield new HostAnswer.Failed<>(host, e, ticker.since(start));
                }
            }
        };
    }

    private Duration remaining(Duration most) {
        var left = most.minus(ticker.since(start));
        return left.isPositive() ? left : Duration.ofNanos(1);
    }

    public sealed interface HostAnswer<T> {
        String host();

        record Answered<T>(String host, T value) implements HostAnswer<T> {}

        /**
         * There is no result.
         *
         * @param waited how long the caller waited for all hosts by then
         */
        record Failed<T>(String host, UnreachableException why, Duration waited) implements HostAnswer<T> {}
    }
}
