package dev.genv.enforcer.enforcement.safeguard.grace;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Optional;

/** Every violation must last for the grace period. */
public record GracePeriod(Duration length) implements Grace {
    @Override
    public Optional<Wait> check(Violation cause, Action action, Evidence evidence) {
        var left = length.minus(evidence.reportedFor(cause));
        return left.isPositive()
                ? Optional.of(Wait.endingAfter(
                        left, WaitReason.GRACE_PERIOD, "it has not yet lasted %s".formatted(text(length))))
                : Optional.empty();
    }

    static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }
}
