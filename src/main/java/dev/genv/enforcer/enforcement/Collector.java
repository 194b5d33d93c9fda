package dev.genv.enforcer.enforcement;

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
    private final List<HostWorker> workers;
    private final Duration timeout;
    private final Ticker ticker;
    private final Map<String, Instant> lastLooks = new HashMap<>();

    Collector(List<HostWorker> workers, Duration timeout, Ticker ticker) {
        this.workers = workers;
        this.timeout = timeout;
        this.ticker = ticker;
    }

    /** Looks at them, and after these processes that were asked to end. */
    List<HostReport> collect(Set<HostProcess> asked) throws InterruptedException {
        var start = ticker.mark();
        var looks = new ArrayList<Look>();
        for (var worker : workers) {
            looks.add(begin(worker, of(worker.host().name(), asked)));
        }
        var reports = new ArrayList<HostReport>();
        for (var look : looks) {
            reports.add(finish(look, start));
        }
        return reports;
    }

    private static Set<ProcessId> of(String host, Set<HostProcess> processes) {
        return processes.stream()
                .filter(process -> process.host().equals(host))
                .map(HostProcess::id)
                .collect(Collectors.toUnmodifiableSet());
    }

    private Look begin(HostWorker worker, Set<ProcessId> asked) {
        try {
            var pending = worker.start(() -> {
                var mark = ticker.mark();
                var answer = worker.host().look(asked);
                return new Answer(answer, ticker.now(), ticker.since(mark));
            });
            return new Look(worker.host().name(), pending, null);
        } catch (HostException e) {
            return new Look(worker.host().name(), null, e);
        }
    }

    private HostReport finish(Look look, long start) throws InterruptedException {
        try {
            if (look.pending == null) {
                throw look.refusal == null ? new HostException("not asked") : look.refusal;
            }
            var left = timeout.minus(ticker.since(start));
            var answer = look.pending.await(left.isPositive() ? left : Duration.ofNanos(1));
            lastLooks.put(look.host, answer.at);
            return new HostReport(
                    answer.look.snapshot(),
                    true,
                    answer.at,
                    answer.duration,
                    answer.look.gpuSource(),
                    answer.look.driver(),
                    answer.look.snapshot().problems(),
                    answer.look.ticks(),
                    answer.look.ended(),
                    answer.look.missingRights(),
                    answer.look.watchesOnly());
        } catch (HostException e) {
            var problem = new Problem("unreachable", String.valueOf(e.getMessage()));
            return HostReport.unreachable(
                    Snapshot.unseen(look.host, problem), lastLooks.get(look.host), ticker.since(start));
        }
    }

    private record Answer(Host.Look look, Instant at, Duration duration) {}

    private record Look(
            String host,
            HostWorker.@Nullable Pending<Answer> pending,
            @Nullable HostException refusal) {}
}
