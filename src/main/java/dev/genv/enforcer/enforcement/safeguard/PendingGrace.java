package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.safeguard.grace.Grace;
import dev.genv.enforcer.enforcement.safeguard.grace.GracePeriod;
import dev.genv.enforcer.enforcement.safeguard.grace.ObservationGrace;
import dev.genv.enforcer.enforcement.safeguard.grace.StateChangeGrace;
import dev.genv.enforcer.enforcement.safeguard.grace.StrangerGrace;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/** An action waits until every grace of one of its violations has passed. */
final class PendingGrace implements Safeguard {
    private final Predicate<RuleDefinition> isEnforced;
    private final List<Grace> graces;

    PendingGrace(Predicate<RuleDefinition> isEnforced, SafetyLimits limits) {
        this.isEnforced = isEnforced;
        graces = List.of(
                new GracePeriod(limits.gracePeriod()),
                new StateChangeGrace(limits.stateChangeGrace()),
                new ObservationGrace(limits.stateChangeGrace()),
                new StrangerGrace(limits.stateChangeGrace()));
    }

    /** One violation whose grace has passed is enough. */
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        var waits = planned.causes().stream()
                .filter(cause -> isEnforced.test(cause.rule()))
                .map(cause -> reasonToWait(cause, planned.action(), evidence))
                .toList();
        return waits.stream().allMatch(Optional::isPresent)
                ? waits.stream()
                        .flatMap(Optional::stream)
                        .findFirst()
                        .map(reason -> new Order.Skip(planned, Outcome.SKIPPED_GRACE, reason))
                : Optional.empty();
    }

    /** Returns why the action must still wait for this violation; empty if every grace has passed. */
    Optional<String> reasonToWait(Violation cause, Action action, Evidence evidence) {
        return graces.stream()
                .map(grace -> grace.reasonToWait(cause, action, evidence))
                .flatMap(Optional::stream)
                .findFirst();
    }
}
