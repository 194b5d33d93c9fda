package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.clock.ObservationAge;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/**
 * An action is not executed if the observation that it rests on is too old. Time may pass until its host begins with it, so this is
 * checked directly before.
 */
public record OldObservation(ObservationAge age) {
    /** Returns the outcome and the reason if the action must not be executed any more; otherwise empty. */
    public Optional<Order.Skip> check(PlannedAction planned) {
        return age.isTooOld()
                ? Optional.of(
                        new Order.Skip(
                                planned,
                                Outcome.SKIPPED_GRACE,
                                "the service was suspended after the observation, or its clock was set: the next cycle decides again"))
                : Optional.empty();
    }
}
