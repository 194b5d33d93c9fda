package dev.genv.enforcer.enforcement;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Looks at all hosts side by side. One that gives no answer costs its own part of the picture and nothing else. */
final class Collector {
    /** What part of the time for all is given to those that did not answer the last time, where others do answer. */
    static final int PART_FOR_DOUBTFUL_HOSTS = 10;

    private final Duration timeout;
    private final Ticker ticker;
    private final Aliases aliases = new Aliases();
    private final Map<String, Instant> lastLooks = new HashMap<>();

    Collector(Duration timeout, Ticker ticker) {
        this.timeout = timeout;
        this.ticker = ticker;
    }

    /** Observes them, and verifies whether these processes have ended. */
    List<HostReport> collect(List<HostWorker> workers, Set<HostProcess> verified) throws InterruptedException {
        var start = ticker.mark();
        var byHost = verified.stream()
                .collect(Collectors.groupingBy(
                        HostProcess::host, Collectors.mapping(HostProcess::id, Collectors.toUnmodifiableSet())));
        var looks = new ArrayList<Look>();
        for (var worker : workers) {
            looks.add(begin(worker, byHost.getOrDefault(worker.host().name(), Set.of())));
        }
        lastLooks.keySet().retainAll(looks.stream().map(Look::host).collect(Collectors.toUnmodifiableSet()));
        return aliases.settle(finish(looks, start));
    }

    /**
     * Nobody waits long for a host that did not answer the last time, while others wait to be enforced on: it goes on by
     * itself, and once it has answered, the next cycle waits for it again.
     */
    private List<HostReport> finish(List<Look> looks, long start) throws InterruptedException {
        var reports = new HashMap<String, HostReport>();
        var someAnswer = looks.stream().anyMatch(look -> !look.doubtful);
        for (var look : looks) {
            if (!look.doubtful || !someAnswer) {
                reports.put(look.host, finish(look, start, timeout, true));
            }
        }
        for (var look : looks) {
            if (!reports.containsKey(look.host)) {
                reports.put(look.host, finish(look, start, timeout.dividedBy(PART_FOR_DOUBTFUL_HOSTS), false));
            }
        }
        return looks.stream()
                .map(look -> requireNonNull(reports.get(look.host)))
                .toList();
    }

    private Look begin(HostWorker worker, Set<ProcessId> verified) {
        var doubtful = worker.failure(HostWorker.Kind.LOOK) != null;
        worker.abandonIfOlderThan(timeout.multipliedBy(2));
        try {
            var pending = worker.start(HostWorker.Kind.LOOK, () -> {
                var mark = ticker.mark();
                var answer = worker.host().look(verified);
                return new Answer(answer, ticker.now(), ticker.since(mark));
            });
            return new Look(worker.host().name(), doubtful, pending, null);
        } catch (HostException e) {
            return new Look(worker.host().name(), doubtful, null, e);
        }
    }

    private HostReport finish(Look look, long start, Duration most, boolean giveUp) throws InterruptedException {
        try {
            if (look.pending == null) {
                throw look.refusal == null ? new HostException("not asked") : look.refusal;
            }
            var left = most.minus(ticker.since(start));
            var patience = left.isPositive() ? left : Duration.ofNanos(1);
            var answer = giveUp ? look.pending.await(patience) : look.pending.awaitPatiently(patience);
            lastLooks.put(look.host, answer.at);
            return report(answer);
        } catch (HostException e) {
            var problem = new Problem(e.code(), String.valueOf(e.getMessage()));
            return HostReport.unreachable(
                    Snapshot.unseen(look.host, problem), lastLooks.get(look.host), ticker.since(start));
        }
    }

    private static HostReport report(Answer answer) {
        var look = answer.look;
        return new HostReport(
                look.snapshot(),
                true,
                answer.at,
                answer.duration,
                look.gpuSource(),
                look.driver(),
                look.snapshot().problems(),
                look.ticks(),
                look.ended(),
                look.missingRights(),
                look.watchesOnly(),
                look.machine(),
                look.lockWait(),
                look.stateChangedAt());
    }

    private record Answer(Host.Look look, Instant at, Duration duration) {}

    private record Look(
            String host,
            boolean doubtful,
            HostWorker.@Nullable Pending<Answer> pending,
            @Nullable HostException refusal) {}
}
