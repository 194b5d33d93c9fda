package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.clock.ObservationAge;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.safeguard.grace.Wait;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Duration;
import java.util.Optional;

/**
 * An action is not executed if the observation that it rests on is too old. Time may pass until its host begins with it, so this is
 * checked directly before.
 */
public record OldObservation(ObservationAge age) {
    private static final String REASON =
            "the service was suspended after the observation, or its clock was set: the next cycle decides again";
    static final Wait WAIT = new Wait(WaitReason.NEXT_CYCLE, REASON, Optional.of(Duration.ZERO));

    /** Whether no action may be executed any more. */
    public boolean applies() {
        return age.isTooOld();
    }

    public Order.Skip skip(PlannedAction planned) {
        return new Order.Skip(planned, Outcome.SKIPPED_GRACE, REASON);
    }
}
