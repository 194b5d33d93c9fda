package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An action that a policy would have executed.
 *
 * @param at when the recorded past first asked for it
 * @param rules the rules that ask for it
 * @param message the violation in genv's words
 */
public record ReplayedAction(Instant at, String host, Target target, List<RuleDefinition> rules, String message) {
    /** What the action would have terminated or detached. It keeps no list and no text whose length users choose. */
    public sealed interface Target {}

    /**
     * A process.
     *
     * @param startTime in clock ticks since boot
     * @param uid null if unknown
     * @param environment the id of the environment that it belongs to; null if none is known
     */
    public record TerminatedProcess(
            int pid,
            long startTime,
            @Nullable Long uid,
            String command,
            @Nullable String environment,
            List<Integer> devices)
            implements Target {}

    /** An attachment of an environment to a device. */
    public record DetachedAttachment(String environment, int device) implements Target {}

    static ReplayedAction of(Instant at, PlannedAction planned) {
        var action = planned.action();
        return new ReplayedAction(
                at,
                action.host(),
                target(action),
                planned.rules(),
                planned.causes().getFirst().message());
    }

    private static Target target(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) ->
                new TerminatedProcess(
                        process.pid(),
                        process.id().startTime(),
                        process.uid(),
                        process.command(),
                        action.environmentId().isEmpty() ? null : SafeText.bounded(action.environmentId()),
                        process.devices());
            case Action.Detach(var _, var environment, var device, var _) ->
                new DetachedAttachment(SafeText.bounded(environment.eid()), device);
        };
    }
}
