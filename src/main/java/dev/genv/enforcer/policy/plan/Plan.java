package dev.genv.enforcer.policy.plan;

import dev.genv.enforcer.model.problem.Problem;
import java.util.List;

/**
 * The violations of a fleet, and the actions that they ask for.
 *
 * @param violations in the order of the rules
 * @param actions terminations first, then detachments, each in a fixed order
 * @param problems what could not be checked
 */
public record Plan(List<Violation> violations, List<PlannedAction> actions, List<HostProblem> problems) {
    public static final Plan EMPTY = new Plan(List.of(), List.of(), List.of());

    /** A problem that prevented a rule from checking a part of a machine. */
    public record HostProblem(String host, Problem problem) {}
}
