package dev.genv.enforcer.enforcement.safeguard.grace;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Optional;

/** A violation that exists only because the state was changed while a process ran must be reported with the change. */
public record StateChangeGrace(Duration length) implements Grace {
    @Override
    public Optional<Wait> check(Violation cause, Action action, Evidence evidence) {
        return evidence.changeBehind(cause, action)
                .filter(reported -> reported.length().compareTo(length) < 0)
                .map(reported -> Wait.endingAfter(
                        length.minus(reported.length()),
                        WaitReason.STATE_CHANGE_GRACE,
                        "the state was changed, and the change must be reported for %s: before, %s; now, %s"
                                .formatted(
                                        GracePeriod.text(length),
                                        reported.change().before(),
                                        reported.change().after())));
    }
}
