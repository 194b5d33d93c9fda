package dev.genv.enforcer.policy;

import java.util.List;

/**
 * What is wrong with a fleet and what should be done about it.
 *
 * @param violations in the order of the rules
 * @param actions terminations first, then detachments, each in a fixed order
 * @param problems what could not be judged
 */
public record Plan(List<Violation> violations, List<PlannedAction> actions, List<HostProblem> problems) {
    public static final Plan EMPTY = new Plan(List.of(), List.of(), List.of());
}
