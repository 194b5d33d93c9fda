package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** One reason to hold back an action that the rules ask for. */
interface Safeguard {
    /** Returns the outcome and the reason if the action must not be executed in this cycle; otherwise empty. */
    Optional<Order.Skip> check(PlannedAction planned, Evidence evidence);
}
