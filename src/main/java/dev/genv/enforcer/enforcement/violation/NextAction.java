package dev.genv.enforcer.enforcement.violation;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote.Target;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Action.Signal;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An action that the service executes if nothing changes until then.
 *
 * @param sent the signal of a termination; empty for a detachment
 * @param notBefore the first cycle after this time, by the wall clock, executes it. The time may have passed: then it is the next cycle,
 *     or a later one because of the termination limit
 */
public record NextAction(Target target, Optional<Signal> sent, Instant notBefore, WaitReason because) {
    public static NextAction of(Action action, Instant notBefore, WaitReason because) {
        return new NextAction(
                Target.of(action),
                action instanceof Action.Terminate terminate ? Optional.of(terminate.signal()) : Optional.empty(),
                notBefore,
                because);
    }

    /** The name of the signal; null for a detachment. */
    public @Nullable String signal() {
        return sent.map(Signal::name).orElse(null);
    }
}
