package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.clock.ObservationAge;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.PlannedAction;

/**
 * An action is not executed if the observation that it rests on is too old. Time may pass until its host begins with it, so this is
 * checked directly before.
 */
public record OldObservation(ObservationAge age) {
    /** Whether no action may be executed any more. */
    public boolean applies() {
        return age.isTooOld();
    }

    public Order.Hold hold(PlannedAction planned) {
        return new Order.Hold(
                planned,
                Outcome.SKIPPED_GRACE,
                "the service was suspended after the observation, or its clock was set: the next cycle decides again");
    }
}
