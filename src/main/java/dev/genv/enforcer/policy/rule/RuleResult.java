package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.policy.plan.HostProblem;
import java.util.List;

/** The result of a rule: its violations, and the problems that prevented a check. */
public record RuleResult(List<Finding> findings, List<HostProblem> problems) {
    RuleResult(List<Finding> findings) {
        this(findings, List.of());
    }
}
