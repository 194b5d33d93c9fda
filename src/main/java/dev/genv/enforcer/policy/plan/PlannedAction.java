package dev.genv.enforcer.policy.plan;

import dev.genv.enforcer.policy.definition.RuleDefinition;
import java.util.List;

/**
 * An action, planned once even if several violations ask for it.
 *
 * @param causes the violations that ask for it: first those of enforced rules, and within both in the order of the rules
 * @param enforced whether one of their rules is enforced; otherwise the action is only reported
 */
public record PlannedAction(Action action, List<Violation> causes, boolean enforced) {

    /** The rules that ask for it, each once. */
    public List<RuleDefinition> rules() {
        return causes.stream().map(Violation::rule).distinct().toList();
    }
}
