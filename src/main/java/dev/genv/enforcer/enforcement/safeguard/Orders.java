package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.policy.plan.Plan.HostProblem;
import java.util.List;

/**
 * The orders of a cycle.
 *
 * @param all one for each action, in the order of the actions
 * @param expiry what holds back those that are not executed in time
 * @param problems a problem for each host whose actions exceed the termination limit
 */
public record Orders(List<Order> all, OldObservation expiry, List<HostProblem> problems) {}
