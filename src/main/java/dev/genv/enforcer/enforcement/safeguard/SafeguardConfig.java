package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import java.util.function.Predicate;

/**
 * What the service may do.
 *
 * @param isEnforced whether the service acts on the violations of a rule
 * @param signals whether processes may be signalled at all
 * @param limits the grace periods and limits
 */
public record SafeguardConfig(
        ServiceMode mode, Predicate<RuleDefinition> isEnforced, boolean signals, SafetyLimits limits) {}
