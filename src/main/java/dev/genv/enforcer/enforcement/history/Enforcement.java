package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.rule.Rules;
import java.time.Duration;
import java.util.function.Predicate;

/**
 * What the settings enforce.
 *
 * @param rules whether the service acts on the violations of a rule
 * @param signals whether processes may be signalled at all
 * @param grace how long a violation must have been observed before the service acts on it; zero to act at once, as genv does
 */
public record Enforcement(Predicate<RuleDefinition> rules, boolean signals, Duration grace) {
    /** Whether the rule with this name is enforced. */
    boolean enforces(String rule) {
        return Rules.find(rule).filter(rules).isPresent();
    }

    boolean enforces(RuleDefinition rule, Action action) {
        return rules.test(rule) && (signals || action instanceof Action.Detach);
    }

    /** Whether processes are also terminated if their environment is not active. */
    boolean enforcesWithoutEnvironment() {
        return rules.test(Rules.INACTIVE_ENV_PROCESSES);
    }
}
