package dev.genv.enforcer.enforcement.safeguard.grace;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Optional;

/**
 * A process is terminated for being in an environment of another user only after it was observed there for a while, and never if the
 * environment belonged to its user. The owner of an environment is recorded in genv's files, which every user can write.
 */
public record StrangerGrace(Duration length) implements Grace {
    @Override
    public Optional<Wait> check(Violation cause, Action action, Evidence evidence) {
        return cause.rule().restsOn(StateChangeKind.OWNER_FORGED)
                ? evidence.claimedByOthers(action)
                        .or(() -> userWasThere(action, evidence))
                        .map(StrangerGrace::endless)
                        .or(() -> stay(action, evidence))
                : Optional.empty();
    }

    private static Optional<String> userWasThere(Action action, Evidence evidence) {
        return evidence.hasHadUidOfProcess(action)
                ? Optional.of("a process of the same user was in environment %s before".formatted(environment(action)))
                : Optional.empty();
    }

    private Optional<Wait> stay(Action action, Evidence evidence) {
        var stay = evidence.stay(action);
        if (stay.isEmpty()) {
            return Optional.of(endless("it was not observed in an environment of another user"));
        }
        if (stay.get().belongs()) {
            return Optional.of(endless(
                    "environment %s belonged to its user when it was observed there".formatted(environment(action))));
        }
        var left = length.minus(stay.get().length());
        return left.isPositive()
                ? Optional.of(Wait.endingAfter(
                        left,
                        WaitReason.STRANGER_GRACE,
                        "it must be observed in an environment of another user for %d s".formatted(length.toSeconds())))
                : Optional.empty();
    }

    private static Wait endless(String reason) {
        return Wait.endless(WaitReason.STRANGER_GRACE, reason);
    }

    private static String environment(Action action) {
        return SafeText.escape(action.environmentId());
    }
}
