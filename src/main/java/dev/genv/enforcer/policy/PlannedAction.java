package dev.genv.enforcer.policy;

import java.util.List;

/**
 * An action, planned once however many violations want it.
 *
 * @param causes the violations that want it, in the order of the rules
 * @param enforced whether one of their rules is enforced; otherwise the action is only told, never done
 */
public record PlannedAction(Action action, List<Violation> causes, boolean enforced) {

    /** The rules that want it, each once. */
    public List<RuleName> rules() {
        return causes.stream().map(Violation::rule).distinct().toList();
    }
}
