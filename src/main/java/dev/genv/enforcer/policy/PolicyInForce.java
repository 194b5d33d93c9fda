package dev.genv.enforcer.policy;

import dev.genv.enforcer.policy.PolicyDocument.NextChange;
import java.util.Optional;

/**
 * The policy at a time.
 *
 * @param values from which it follows
 * @param document of which these are the values at the time, with the values of the variables
 * @param next when other values apply; empty if that is not known
 */
public record PolicyInForce(Policy policy, PolicyValues values, PolicyDocument document, Optional<NextChange> next) {}
