package dev.genv.enforcer.enforcement.safeguard.grace;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Optional;

/** Where the state may have been changed before the service observed it, the service must first observe it for a while. */
public record ObservationGrace(Duration length) implements Grace {
    @Override
    public Optional<Wait> check(Violation cause, Action action, Evidence evidence) {
        return evidence.observedFor(cause, action)
                .filter(observed -> observed.compareTo(length) < 0)
                .map(observed -> Wait.endingAfter(
                        length.minus(observed),
                        WaitReason.OBSERVATION_GRACE,
                        "the service has observed the state for less than %s: it cannot know what was changed before"
                                .formatted(GracePeriod.text(length))));
    }
}
