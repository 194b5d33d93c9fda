package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.safeguard.grace.Grace;
import dev.genv.enforcer.enforcement.safeguard.grace.GracePeriod;
import dev.genv.enforcer.enforcement.safeguard.grace.ObservationGrace;
import dev.genv.enforcer.enforcement.safeguard.grace.StateChangeGrace;
import dev.genv.enforcer.enforcement.safeguard.grace.StrangerGrace;
import dev.genv.enforcer.enforcement.safeguard.grace.Wait;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** An action waits until every grace of one of its violations has passed. */
final class PendingGrace implements Safeguard {
    private static final Comparator<Wait> BY_END =
            Comparator.comparing(wait -> wait.left().orElseThrow());

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
                .map(cause -> first(cause, planned.action(), evidence))
                .toList();
        return waits.stream().allMatch(Optional::isPresent)
                ? waits.stream()
                        .flatMap(Optional::stream)
                        .findFirst()
                        .map(wait -> new Order.Skip(planned, Outcome.SKIPPED_GRACE, wait.reason()))
                : Optional.empty();
    }

    /** Returns the first wait of the action for this violation; empty if every grace has passed. */
    Optional<Wait> first(Violation cause, Action action, Evidence evidence) {
        return all(cause, action, evidence).findFirst();
    }

    /**
     * Returns the wait that ends last for the violation whose waits end first; empty if the action does not wait, or waits until the
     * state or the process changes.
     */
    Optional<Wait> last(PlannedAction planned, Evidence evidence) {
        return planned.causes().stream()
                .filter(cause -> isEnforced.test(cause.rule()))
                .map(cause -> all(cause, planned.action(), evidence).toList())
                .filter(waits -> waits.stream().allMatch(wait -> wait.left().isPresent()))
                .flatMap(waits -> waits.stream().max(BY_END).stream())
                .min(BY_END);
    }

    private Stream<Wait> all(Violation cause, Action action, Evidence evidence) {
        return graces.stream().flatMap(grace -> grace.check(cause, action, evidence).stream());
    }
}
