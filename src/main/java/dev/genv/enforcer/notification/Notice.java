package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Labelled;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An event that is worth a message.
 *
 * @param sequence the position of the event
 * @param at when it was recorded, by the wall clock
 * @param violation the violation after the event
 * @param action the action that was taken or that waits; null if the event is none of an action
 * @param processes those of the violation; in a notice for one user, the user's that it concerns, and none if it concerns only an
 *     environment
 */
public record Notice(
        NoticeKind kind,
        long sequence,
        Instant at,
        ViolationRecord violation,
        @Nullable ActionNote action,
        List<GpuProcess> processes) {
    public Notice {
        processes = List.copyOf(processes);
    }

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

    /** Identifies the event, also after a restart. */
    String id() {
        return "%s-%d".formatted(violation.id(), sequence);
    }

    /** Returns where the page shows the violations of these notices. */
    static String address(URI page, List<Notice> notices) {
        var violations = notices.stream()
                .map(notice -> notice.violation().id())
                .distinct()
                .toList();
        return "%s/#/violations%s".formatted(page, violations.size() == 1 ? "/" + violations.getFirst() : "");
    }

    private static Notice of(Event event, NoticeKind kind, ViolationRecord violation, @Nullable ActionNote action) {
        return new Notice(
                kind,
                event.sequence(),
                event.at(),
                violation,
                action,
                violation.violation().processes());
    }

    /** A grace period may have several reasons one after the other; one warning is enough. */
    private static boolean isFirstWarning(ViolationRecord violation, ActionNote action) {
        var ofTarget = violation.actions().stream()
                .filter(each -> each.target().equals(action.target()))
                .toList();
        var before = ofTarget.lastIndexOf(action) - 1;
        return isWarning(violation, action) && (before < 0 || !isWarning(violation, ofTarget.get(before)));
    }

    /** Whether the service held an action back that it will take. */
    private static boolean isWarning(ViolationRecord violation, ActionNote action) {
        return violation.mode() == RuleMode.ENFORCE
                && (action.outcome() == Outcome.SKIPPED_GRACE || action.outcome() == Outcome.SKIPPED_UNCONFIRMED);
    }

    /**
     * Returns the notice for each user concerned, by the uid of the account whose the processes are, or the live pids of the environment
     * that loses a GPU. That follows from facts of the kernel: what genv's files say of a user is never used for this.
     */
    Map<Long, Notice> byUid(UserDirectory users) {
        var byUid = new LinkedHashMap<Long, List<GpuProcess>>();
        concernedProcesses(users.inAudit())
                .filter(GpuProcess::isPerson)
                .forEach(process -> byUid.computeIfAbsent(
                                Objects.requireNonNull(process.owner(), "a person has a uid"), _ -> new ArrayList<>())
                        .add(process));
        for (var concerned : concerned()) {
            if (!concerned.target().isProcess()) {
                users.ownerOf(concerned.target()).ifPresent(uid -> byUid.putIfAbsent(uid, List.of()));
            }
        }
        var notices = new LinkedHashMap<Long, Notice>();
        byUid.forEach((uid, its) -> notices.put(uid, of(its)));
        return notices;
    }

    private Notice of(List<GpuProcess> its) {
        return new Notice(kind, sequence, at, violation, action, its);
    }

    /** Returns this together with what another uid of the same recipient gets. */
    Notice with(Notice other) {
        return of(Stream.concat(processes.stream(), other.processes.stream()).toList());
    }

    private Stream<GpuProcess> concernedProcesses(boolean inAudit) {
        var all = processes.stream();
        var concerned = concerned();
        return kind == NoticeKind.OPENED
                ? all.filter(_ -> inAudit && violation.mode() == RuleMode.AUDIT)
                : all.filter(process -> concerned.stream().anyMatch(each -> concerns(each, process)));
    }

    /** Returns the actions of which users are informed: at the end of a violation the warnings, if the service did not act after them. */
    private List<ActionNote> concerned() {
        var all = action == null ? violation.actions() : List.of(action);
        var hasEffect = all.stream().anyMatch(each -> each.outcome().hasEffect());
        return switch (kind) {
            case OPENED -> List.of();
            case WARNED -> all;
            case ACTED -> hasEffect ? all : List.of();
            case RESOLVED ->
                hasEffect
                        ? List.of()
                        : all.stream()
                                .filter(each -> isWarning(violation, each))
                                .toList();
        };
    }

    private static boolean concerns(ActionNote action, GpuProcess process) {
        var its = action.target();
        return (its.environment() == null || its.device() == null)
                ? Objects.equals(its.pid(), process.pid())
                : process.names(its.environment()) && process.uses(its.device());
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
