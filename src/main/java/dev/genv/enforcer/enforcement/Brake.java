package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.Signal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Lets only so many processes of a host be asked to end in one cycle. Whoever waits longest comes first, so that nobody can
 * hide behind others of his that come again and again; who could not be asked before comes last.
 */
final class Brake {
    private static final Duration REMEMBERED = Duration.ofHours(1);

    private final int most;
    private final Ticker ticker;
    private final Map<HostProcess, Wait> waiting = new HashMap<>();

    /**
     * What is remembered of one that is to be ended.
     *
     * @param first when it first was
     * @param last when it last was
     * @param failures how often it could not be asked
     */
    private record Wait(long first, long last, int failures) {}

    /** A brake for so many a host and cycle; 0 for any number. */
    Brake(int most, Ticker ticker) {
        this.most = most;
        this.ticker = ticker;
    }

    /** Those that must wait for the next cycle. Whoever is killed was counted when he was asked. */
    Set<PlannedAction> heldBack(List<PlannedAction> due) {
        var now = ticker.mark();
        var byHost = new LinkedHashMap<String, List<Candidate>>();
        for (var planned : due) {
            if (planned.action() instanceof Action.Terminate terminate && terminate.signal() == Signal.TERM) {
                var wait = waiting.merge(
                        terminate.target(),
                        new Wait(now, now, 0),
                        (known, _) -> new Wait(known.first, now, known.failures));
                byHost.computeIfAbsent(terminate.host(), _ -> new ArrayList<>()).add(new Candidate(planned, wait));
            }
        }
        waiting.values().removeIf(wait -> ticker.since(wait.last).compareTo(REMEMBERED) > 0);
        var heldBack = new HashSet<PlannedAction>();
        for (var ofHost : byHost.values()) {
            if (most > 0) {
                ofHost.stream()
                        .sorted(Candidate.ORDER)
                        .skip(most)
                        .forEach(candidate -> heldBack.add(candidate.planned));
            }
        }
        return heldBack;
    }

    Result reason() {
        return new Result(Outcome.SKIPPED_LIMIT, "no more than %d in one cycle: it waits for the next".formatted(most));
    }

    /** Takes in what came of it. */
    void note(Map<PlannedAction, Result> results) {
        results.forEach((planned, result) -> {
            if (planned.action() instanceof Action.Terminate terminate
                    && !result.outcome().isSkipped()) {
                waiting.computeIfPresent(
                        terminate.target(),
                        (_, wait) -> result.outcome().isFailure()
                                ? new Wait(wait.first, wait.last, wait.failures + 1)
                                : null);
            }
        });
    }

    /** What people must know of those that wait. */
    List<HostProblem> problems(Set<PlannedAction> heldBack) {
        var byHost = new LinkedHashMap<String, Integer>();
        heldBack.forEach(planned -> byHost.merge(planned.action().host(), 1, Integer::sum));
        return byHost.entrySet().stream()
                .map(entry -> new HostProblem(
                        entry.getKey(),
                        new Problem(
                                "brake_reached",
                                "%d processes are to be ended, but no more than %d a cycle are: %d wait"
                                        .formatted(most + entry.getValue(), most, entry.getValue()))))
                .toList();
    }

    private record Candidate(PlannedAction planned, Wait waiting) {
        static final Comparator<Candidate> ORDER = Comparator.<Candidate>comparingInt(
                        candidate -> candidate.waiting.failures)
                .thenComparingLong(candidate -> candidate.waiting.first);
    }
}
