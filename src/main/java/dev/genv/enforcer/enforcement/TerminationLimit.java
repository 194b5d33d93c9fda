package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Limits how many processes of a host are terminated in one cycle. The users of a host take turns, so that the processes of one
 * user do not delay those of another. A user's subordinate uids count as the user; all processes of unknown uids are one group.
 * Within a user, the process that waits longest comes first, so that newer processes cannot delay it; a process that could not be
 * signalled before comes last.
 */
final class TerminationLimit {
    private static final Duration REMEMBERED = Duration.ofHours(1);

    private final int most;
    private final Ticker ticker;
    private final Map<HostProcess, Wait> waiting = new HashMap<>();

    /** When a process of each user was last signalled. */
    private final Map<User, Long> served = new HashMap<>();

    /** A user of a host; the uid is null for all processes of unknown uids. */
    private record User(String host, @Nullable Long uid) {}

    /**
     * How long a process has waited.
     *
     * @param user its user when its termination was last planned
     * @param first when its termination was first planned
     * @param last when its termination was last planned
     * @param failures how often it could not be signalled
     */
    private record Wait(User user, long first, long last, int failures) {
        Wait again(User user, long now) {
            return new Wait(user, first, now, failures);
        }

        Wait failed() {
            return new Wait(user, first, last, failures + 1);
        }
    }

    /** Creates a limit of this number for each host and cycle; 0 for no limit. */
    TerminationLimit(int most, Ticker ticker) {
        this.most = most;
        this.ticker = ticker;
    }

    int most() {
        return most;
    }

    /** Returns the actions that must wait for the next cycle. SIGKILL is not limited, because its SIGTERM was. */
    Set<PlannedAction> selectDeferred(List<PlannedAction> due) {
        var now = ticker.mark();
        var byHost = new LinkedHashMap<String, Map<User, List<Candidate>>>();
        for (var planned : due) {
            if (planned.isSigterm() && planned.action() instanceof Action.Terminate terminate) {
                var host = terminate.host();
                var process = terminate.process();
                var user = new User(host, process.owner() == null ? process.uid() : process.owner());
                var wait = waiting.merge(
                        terminate.target(), new Wait(user, now, now, 0), (known, _) -> known.again(user, now));
                byHost.computeIfAbsent(host, _ -> new LinkedHashMap<>())
                        .computeIfAbsent(user, _ -> new ArrayList<>())
                        .add(new Candidate(planned, wait));
            }
        }
        waiting.values().removeIf(wait -> ticker.since(wait.last).compareTo(REMEMBERED) > 0);
        served.values().removeIf(at -> ticker.since(at).compareTo(REMEMBERED) > 0);
        var deferred = new HashSet<PlannedAction>();
        for (var ofHost : byHost.values()) {
            if (most > 0) {
                orderRoundRobin(ofHost).stream().skip(most).forEach(candidate -> deferred.add(candidate.planned));
            }
        }
        return deferred;
    }

    /** Returns one process of each user, then a second one of each, and so on. */
    private List<Candidate> orderRoundRobin(Map<User, List<Candidate>> byUser) {
        var permits = byUser.entrySet().stream()
                .sorted(Comparator.<Map.Entry<User, List<Candidate>>>comparingLong(
                                entry -> waitsSince(entry.getKey(), entry.getValue()))
                        .thenComparing(entry -> served.containsKey(entry.getKey())))
                .map(entry -> entry.getValue().stream().sorted(Candidate.ORDER).iterator())
                .collect(Collectors.toCollection(ArrayDeque::new));
        var inTurn = new ArrayList<Candidate>();
        while (!permits.isEmpty()) {
            var permit = permits.removeFirst();
            inTurn.add(permit.next());
            if (permit.hasNext()) {
                permits.addLast(permit);
            }
        }
        return inTurn;
    }

    /** Returns since when the user's first process has waited, or the last one was signalled. So new users cannot always go first. */
    private long waitsSince(User user, List<Candidate> candidates) {
        var first = candidates.stream()
                .mapToLong(candidate -> candidate.waiting.first)
                .min()
                .orElseThrow();
        return Math.max(first, served.getOrDefault(user, first));
    }

    /** Whether the last signal of a process failed. */
    boolean hasFailed(HostProcess process) {
        var wait = waiting.get(process);
        return wait != null && wait.failures > 0;
    }

    /** Records results. An action to which no host has answered yet has no number: it neither succeeded nor failed. */
    void record(List<ActionRecord> results) {
        for (var done : results) {
            var outcome = done.result().outcome();
            var isAnswered = done.id() != 0;
            if (isAnswered && done.planned().action() instanceof Action.Terminate terminate && !outcome.isSkipped()) {
                waiting.computeIfPresent(terminate.target(), (_, wait) -> {
                    if (terminate.signal() == Signal.TERM) {
                        served.put(wait.user, ticker.mark());
                    }
                    return outcome.isFailure() ? wait.failed() : null;
                });
            }
        }
    }

    private record Candidate(PlannedAction planned, Wait waiting) {
        static final Comparator<Candidate> ORDER = Comparator.<Candidate>comparingInt(
                        candidate -> candidate.waiting.failures)
                .thenComparingLong(candidate -> candidate.waiting.first);
    }
}
