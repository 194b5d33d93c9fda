package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.host.UnreachableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

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
    private final List<HostWorker.Pending<T>> tasks = new ArrayList<>();

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
        var task = worker.start(kind, work);
        tasks.add(task);
        return !task.isRefused();
    }

    /** Whether the last task of any of the hosts succeeded. */
    boolean hasReliableHost() {
        return tasks.stream().anyMatch(task -> !task.isSuspect());
    }

    /**
     * Waits for the results, for those of suspect hosts last. A task is abandoned at the time limit,
     * except that of a suspect host if others wait.
     *
     * @param othersWait whether other hosts wait for these, so that the wait for suspect ones must be brief
     * @return the answers in the order of the starts
     */
    public List<HostAnswer<T>> await(boolean othersWait) throws InterruptedException {
        var answers = new HashMap<HostWorker.Pending<T>, HostAnswer<T>>();
        for (var isBrief : List.of(false, true)) {
            for (var task : tasks) {
                if ((task.isSuspect() && othersWait) == isBrief) {
                    answers.put(task, await(task, isBrief));
                }
            }
        }
        return tasks.stream()
                .map(task -> Objects.requireNonNull(answers.get(task)))
                .toList();
    }

    private HostAnswer<T> await(HostWorker.Pending<T> task, boolean isBrief) throws InterruptedException {
        var most = isBrief ? timeout.dividedBy(SUSPECT_HOST_DIVISOR) : timeout;
        var left = most.minus(ticker.since(start));
        var host = task.worker().host().name();
        try {
            var value = task.await(left.isPositive() ? left : Duration.ofNanos(1), !isBrief);
            return new HostAnswer<>(host, value, null, ticker.since(start));
        } catch (UnreachableException e) {
            return new HostAnswer<>(host, null, e, ticker.since(start));
        }
    }

    /**
     * The answer of a host.
     *
     * @param value the result; null if there is none
     * @param failure why there is no result; null if there is one
     * @param waited how long the caller waited for all hosts by then
     */
    public record HostAnswer<T>(
            String host, @Nullable T value, @Nullable UnreachableException failure, Duration waited) {}
}
