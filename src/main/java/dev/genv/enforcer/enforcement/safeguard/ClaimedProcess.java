package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * A process is not terminated if other users may have added it to their environment. If processes without an active environment are
 * terminated, this does not apply: otherwise a user could hide a process in another user's environment.
 */
record ClaimedProcess(Predicate<RuleDefinition> isEnforced) implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return reason(planned.action(), evidence)
                .map(reason -> new Order.Skip(planned, Outcome.SKIPPED_PROTECTED, reason));
    }

    Optional<String> reason(Action action, Evidence evidence) {
        var inactiveOnesAreTerminated = Rules.definitions().stream()
                .filter(rule -> rule.restsOn(StateChangeKind.ENVIRONMENT_ENDED))
                .anyMatch(isEnforced);
        return inactiveOnesAreTerminated ? Optional.empty() : evidence.claimedByOthers(action);
    }
}
