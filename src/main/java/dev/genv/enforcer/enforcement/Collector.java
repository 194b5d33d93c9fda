package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    List<HostReport> collect() throws InterruptedException {
        var start = ticker.mark();
        var looks = new ArrayList<Look>();
        for (var worker : workers) {
            looks.add(begin(worker));
        }
        var reports = new ArrayList<HostReport>();
        for (var look : looks) {
            reports.add(finish(look, start));
        }
        return reports;
    }

    private Look begin(HostWorker worker) {
        try {
            var pending = worker.start(() -> {
                var mark = ticker.mark();
                var answer = worker.host().look();
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
                    answer.look.snapshot().problems());
        } catch (HostException e) {
            var problem = new Problem("unreachable", String.valueOf(e.getMessage()));
            return new HostReport(
                    Snapshot.unseen(look.host, problem),
                    false,
                    lastLooks.get(look.host),
                    ticker.since(start),
                    null,
                    null,
                    List.of(problem));
        }
    }

    private record Answer(Host.Look look, Instant at, Duration duration) {}

    private record Look(
            String host,
            HostWorker.@Nullable Pending<Answer> pending,
            @Nullable HostException refusal) {}
}
