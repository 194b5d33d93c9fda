package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.enforcement.host.HostTasks.HostAnswer;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Observation;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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

    /**
     * Detects hosts of the list that are the same machine. The machine counts once, under one host name, which stays the same
     * because processes and violations are identified by it.
     */
    static final class DuplicateHosts {
        /** The machine id that each host reported last. */
        private final Map<String, String> machines = new HashMap<>();
        /** The host name under which each machine counts, by machine id. */
        private final Map<String, String> counted = new HashMap<>();

        /** Returns the reports, with empty ones for hosts whose machine counts under another name. */
        List<HostReport> collapse(List<HostReport> reports) {
            var names = reports.stream().map(HostReport::host).collect(Collectors.toUnmodifiableSet());
            machines.keySet().retainAll(names);
            reports.forEach(this::record);
            counted.entrySet().removeIf(entry -> !isCurrent(entry, names));
            var reached = reports.stream()
                    .filter(HostReport::reached)
                    .map(HostReport::host)
                    .collect(Collectors.toUnmodifiableSet());
            var collapsed = new ArrayList<HostReport>();
            for (var report : reports) {
                var machine = machines.get(report.host());
                var other = machine == null ? report.host() : counted.computeIfAbsent(machine, _ -> report.host());
                collapsed.add(other.equals(report.host()) ? report : duplicate(report, other, reached.contains(other)));
            }
            return collapsed;
        }

        private void record(HostReport report) {
            var machine = report.machine();
            if (machine != null) { // a missing machine id does not make it another machine
                machines.put(report.host(), machine);
            }
        }

        private boolean isCurrent(Map.Entry<String, String> entry, Set<String> names) {
            return names.contains(entry.getValue()) && entry.getKey().equals(machines.get(entry.getValue()));
        }

        /** Signalled processes are known by the name that counts, so without its answer the machine counts as unreachable. */
        private static HostReport duplicate(HostReport report, String other, boolean isSeen) {
            var why = new Problem(
                    ProblemCode.DUPLICATE_HOST,
                    "this is the same machine as %s by its machine id and counts under that name: remove one of them from the list"
                            .formatted(other));
            return report.with(
                    isSeen
                            ? new Snapshot(
                                    report.host(), List.of(), List.of(), List.of(), Set.of(), Set.of(), List.of(why))
                            : Snapshot.unseen(report.host(), why));
        }
    }
}
