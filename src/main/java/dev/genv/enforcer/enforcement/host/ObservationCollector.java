package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.observation.Observation;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Observes all hosts in parallel. A host without an answer does not affect the others. */
public final class ObservationCollector {
    private final Duration timeout;
    private final Ticker ticker;
    private final DuplicateHosts duplicateHosts = new DuplicateHosts();
    private final Map<String, Instant> lastObserved = new HashMap<>();

    /** An answer, when it came, and how long it took. */
    private record Answer(Observation observation, Instant at, Duration duration) {}

    public ObservationCollector(Duration timeout, Ticker ticker) {
        this.timeout = timeout;
        this.ticker = ticker;
    }

    /** Observes the hosts, and verifies whether these processes have exited. */
    public List<HostReport> collect(List<HostWorker> workers, Set<HostProcess> verified) throws InterruptedException {
        var byHost = verified.stream()
                .collect(Collectors.groupingBy(
                        HostProcess::host, Collectors.mapping(HostProcess::id, Collectors.toUnmodifiableSet())));
        var tasks = new HostTasks<Answer>(HostWorker.Kind.OBSERVE, timeout, ticker);
        for (var worker : workers) {
            var processes = byHost.getOrDefault(worker.host().name(), Set.of());
            worker.abandonIfOlderThan(timeout.multipliedBy(2));
            tasks.start(worker, () -> {
                var mark = ticker.mark();
                var observation = worker.host().observe(processes);
                return new Answer(observation, ticker.now(), ticker.since(mark));
            });
        }
        var answers = tasks.await(tasks.hasReliableHost());
        lastObserved.keySet().retainAll(answers.stream().map(HostAnswer::host).collect(Collectors.toUnmodifiableSet()));
        return duplicateHosts.collapse(answers.stream().map(this::report).toList());
    }

    private HostReport report(HostAnswer<Answer> answer) {
        return switch (answer) {
            case HostAnswer.Answered<Answer>(var host, var value) -> {
                lastObserved.put(host, value.at);
                yield HostReport.observed(value.observation, value.at, value.duration);
            }
            case HostAnswer.Failed<Answer>(var host, var why, var waited) -> {
                var problem = new Problem(why.code(), String.valueOf(why.getMessage()));
                yield HostReport.unreachable(Snapshot.unseen(host, problem), lastObserved.get(host), waited);
            }
        };
    }
}
