package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.policy.definition.Limits;

/**
 * What a rule must know besides the fleet.
 *
 * @param ending the processes that are treated as gone: they may still violate the rule, but no other process is terminated for what they hold
 * @param limits the configured limits; {@link Limits#NONE} for a rule without a limit
 */
public record RuleContext(ExpectedExits ending, Limits limits) {}
