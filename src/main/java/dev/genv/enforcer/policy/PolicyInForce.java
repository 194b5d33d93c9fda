package dev.genv.enforcer.policy;

import dev.genv.enforcer.policy.PolicyDocument.NextChange;
import dev.genv.enforcer.policy.PolicyDocument.PolicyException;
import java.util.List;
import java.util.Optional;

/**
 * The policy at a time.
 *
 * @param values from which it follows
 * @param exceptions those of the file, also past and future ones
 * @param next when other values apply; empty if that is not known
 */
public record PolicyInForce(
        Policy policy, PolicyValues values, List<PolicyException> exceptions, Optional<NextChange> next) {}
