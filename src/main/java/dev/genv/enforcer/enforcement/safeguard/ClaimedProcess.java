package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * A process is not terminated if other users may have added it to their environment. If such a process without an active environment is
 * terminated, this does not apply: otherwise a user could hide a process in another user's environment.
 */
record ClaimedProcess(Predicate<RuleDefinition> isEnforced) implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return reason(planned.rules(), planned.action(), evidence)
                .map(reason -> new Order.Skip(planned, Outcome.SKIPPED_PROTECTED, reason));
    }

    /**
     * Returns why the process is not terminated; empty if it may be.
     *
     * @param rules those that ask for the action
     */
    Optional<String> reason(List<RuleDefinition> rules, Action action, Evidence evidence) {
        return rules.stream().anyMatch(this::wouldTerminateInactiveOne)
                ? Optional.empty()
                : evidence.claimedByOthers(action);
    }

    /** Whether a process that breaks this rule is also terminated if its environment is not active. */
    private boolean wouldTerminateInactiveOne(RuleDefinition broken) {
        return Rules.definitions().stream()
                .filter(rule -> rule.restsOn(StateChangeKind.ENVIRONMENT_ENDED)
                        && rule.isOfUnlistedProcesses() == broken.isOfUnlistedProcesses())
                .anyMatch(isEnforced);
    }
}
