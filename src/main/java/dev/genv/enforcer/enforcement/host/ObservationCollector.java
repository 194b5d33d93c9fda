package dev.genv.enforcer.enforcement.host;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
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
import org.jspecify.annotations.Nullable;

/** Observes all hosts in parallel. A host without an answer does not affect the others. */
public final class ObservationCollector {
    /** The share of the time limit for hosts that gave no answer last time, if other hosts answer. */
    public static final int SUSPECT_HOST_DIVISOR = 10;

    private final Duration timeout;
    private final Ticker ticker;
    private final DuplicateHosts duplicateHosts = new DuplicateHosts();
    private final Map<String, Instant> lastObserved = new HashMap<>();

    public ObservationCollector(Duration timeout, Ticker ticker) {
        this.timeout = timeout;
        this.ticker = ticker;
    }

    /** Observes the hosts, and verifies whether these processes have exited. */
    public List<HostReport> collect(List<HostWorker> workers, Set<HostProcess> verified) throws InterruptedException {
        var start = ticker.mark();
        var byHost = verified.stream()
                .collect(Collectors.groupingBy(
                        HostProcess::host, Collectors.mapping(HostProcess::id, Collectors.toUnmodifiableSet())));
        var observations = new ArrayList<PendingObservation>();
        for (var worker : workers) {
            observations.add(begin(worker, byHost.getOrDefault(worker.host().name(), Set.of())));
        }
        lastObserved
                .keySet()
                .retainAll(observations.stream().map(PendingObservation::host).collect(Collectors.toUnmodifiableSet()));
        return duplicateHosts.collapse(finish(observations, start));
    }

    /**
     * Waits only briefly for a host that gave no answer last time, because the other hosts are enforced after it. Its observation
     * continues; once it answers, the next cycle waits for it again.
     */
    private List<HostReport> finish(List<PendingObservation> observations, long start) throws InterruptedException {
        var reports = new HashMap<String, HostReport>();
        var someAnswer = observations.stream().anyMatch(observation -> !observation.suspect);
        for (var observation : observations) {
            if (!observation.suspect || !someAnswer) {
                reports.put(observation.host, finish(observation, start, timeout, true));
            }
        }
        for (var observation : observations) {
            if (!reports.containsKey(observation.host)) {
                reports.put(
                        observation.host, finish(observation, start, timeout.dividedBy(SUSPECT_HOST_DIVISOR), false));
            }
        }
        return observations.stream()
                .map(observation -> requireNonNull(reports.get(observation.host)))
                .toList();
    }

    private PendingObservation begin(HostWorker worker, Set<ProcessId> verified) {
        var suspect = worker.failure(HostWorker.Kind.OBSERVE) != null;
        worker.abandonIfOlderThan(timeout.multipliedBy(2));
        try {
            var submitted = worker.start(HostWorker.Kind.OBSERVE, () -> {
                var mark = ticker.mark();
                var answer = worker.host().observe(verified);
                return new Answer(answer, ticker.now(), ticker.since(mark));
            });
            return new PendingObservation(worker.host().name(), suspect, submitted, null);
        } catch (HostException e) {
            return new PendingObservation(worker.host().name(), suspect, null, e);
        }
    }

    private HostReport finish(PendingObservation observation, long start, Duration most, boolean giveUp)
            throws InterruptedException {
        try {
            if (observation.submitted == null) {
                throw observation.refusal == null
                        ? new HostException("no observation was started")
                        : observation.refusal;
            }
            var left = most.minus(ticker.since(start));
            var timeLimit = left.isPositive() ? left : Duration.ofNanos(1);
            var answer = giveUp
                    ? observation.submitted.await(timeLimit)
                    : observation.submitted.awaitWithoutAbandoning(timeLimit);
            lastObserved.put(observation.host, answer.at);
            return report(answer);
        } catch (HostException e) {
            var problem = new Problem(e.code(), String.valueOf(e.getMessage()));
            return HostReport.unreachable(
                    Snapshot.unseen(observation.host, problem),
                    lastObserved.get(observation.host),
                    ticker.since(start));
        }
    }

    private static HostReport report(Answer answer) {
        var observation = answer.observation;
        return new HostReport(
                observation.snapshot(),
                true,
                answer.at,
                answer.duration,
                observation.gpuSource(),
                observation.driver(),
                observation.snapshot().problems(),
                observation.ticks(),
                observation.ended(),
                observation.missingPrivileges(),
                observation.readOnlyReason(),
                observation.machine(),
                observation.lockWait(),
                observation.stateChangedAt());
    }

    private record Answer(Observation observation, Instant at, Duration duration) {}

    private record PendingObservation(
            String host,
            boolean suspect,
            HostWorker.@Nullable Pending<Answer> submitted,
            @Nullable HostException refusal) {}
}
