package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Labelled;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An event that is worth a message.
 *
 * @param sequence the position of the event
 * @param at when it was recorded, by the wall clock
 * @param violation the violation after the event
 * @param action the action that was taken or that waits; null if the event is none of an action
 */
public record Notice(
        NoticeKind kind,
        long sequence,
        Instant at,
        ViolationRecord violation,
        @Nullable ActionNote action) {

    /** Returns the notice of an event; empty if nobody needs to be informed of it. */
    public static Optional<Notice> of(Event event) {
        return switch (event.content()) {
            case EventContent.ViolationOpened(var violation) ->
                Optional.of(of(event, NoticeKind.OPENED, violation, null));
            case EventContent.ViolationResolved(var violation) ->
                Optional.of(of(event, NoticeKind.RESOLVED, violation, null));
            case EventContent.ActionRecorded(var violation, var action)
            when isFirstWarning(violation, action) -> Optional.of(of(event, NoticeKind.WARNED, violation, action));
            case EventContent.ActionRecorded(var violation, var action)
            when action.outcome().hasEffect() || action.outcome().isFailure() ->
                Optional.of(of(event, NoticeKind.ACTED, violation, action));
            default -> Optional.empty();
        };
    }

    private static Notice of(Event event, NoticeKind kind, ViolationRecord violation, @Nullable ActionNote action) {
        return new Notice(kind, event.sequence(), event.at(), violation, action);
    }

    /** A grace period may have several reasons one after the other; one warning is enough. */
    private static boolean isFirstWarning(ViolationRecord violation, ActionNote action) {
        return isWarning(violation, action)
                && violation.actions().stream()
                                .filter(each -> each.target().equals(action.target()))
                                .filter(each -> isWarning(violation, each))
                                .count()
                        == 1;
    }

    /** Whether the service held an action back that it will take. */
    static boolean isWarning(ViolationRecord violation, ActionNote action) {
        return violation.mode() == RuleMode.ENFORCE && action.outcome() == Outcome.SKIPPED_GRACE;
    }

    /** What happened to a violation. */
    public enum NoticeKind implements Labelled {
        /** A cycle found the violation for the first time. */
        OPENED,
        /** The service will act on it, and waits for a grace period. */
        WARNED,
        /** The service acted on it, or tried to. */
        ACTED,
        /** It is over. */
        RESOLVED
    }
}
