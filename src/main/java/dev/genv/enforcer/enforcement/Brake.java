package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.Signal;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;

/**
 * Lets only so many processes of a host be asked to end in one cycle. Whoever waits longest comes first, so that nobody can
 * hide behind others of his that come again and again; what failed before comes last.
 */
final class Brake {
    private final int most;
    private final Set<HostProcess> failed = new HashSet<>();

    /** A brake for so many a host and cycle; 0 for any number. */
    Brake(int most) {
        this.most = most;
    }

    /** Those that must wait for the next cycle. Whoever is killed was counted when he was asked. */
    Set<PlannedAction> heldBack(List<PlannedAction> signals, ToLongFunction<PlannedAction> waitingSince) {
        var heldBack = new HashSet<PlannedAction>();
        var byHost = new LinkedHashMap<String, List<PlannedAction>>();
        for (var planned : signals) {
            if (planned.action() instanceof Action.Terminate(var host, var _, var signal) && signal == Signal.TERM) {
                byHost.computeIfAbsent(host, _ -> new ArrayList<>()).add(planned);
            }
        }
        for (var ofHost : byHost.values()) {
            if (most > 0 && ofHost.size() > most) {
                ofHost.stream()
                        .sorted(Comparator.comparing(this::hasFailed).thenComparingLong(waitingSince))
                        .skip(most)
                        .forEach(heldBack::add);
            }
        }
        return heldBack;
    }

    Result reason() {
        return new Result(Outcome.SKIPPED_LIMIT, "no more than %d in one cycle: it waits for the next".formatted(most));
    }

    /** Takes in what came of it. */
    void note(Map<PlannedAction, Result> results) {
        failed.clear();
        results.forEach((planned, result) -> {
            if (result.outcome().isFailure() && planned.action() instanceof Action.Terminate terminate) {
                failed.add(terminate.target());
            }
        });
    }

    /** What people must know of those that wait. */
    List<HostProblem> problems(Set<PlannedAction> heldBack) {
        var waiting = new LinkedHashMap<String, Integer>();
        heldBack.forEach(planned -> waiting.merge(planned.action().host(), 1, Integer::sum));
        return waiting.entrySet().stream()
                .map(entry -> new HostProblem(
                        entry.getKey(),
                        new Problem(
                                "brake_reached",
                                "%d processes are to be ended, but no more than %d a cycle are: %d wait"
                                        .formatted(most + entry.getValue(), most, entry.getValue()))))
                .toList();
    }

    private boolean hasFailed(PlannedAction planned) {
        return planned.action() instanceof Action.Terminate terminate && failed.contains(terminate.target());
    }
}
