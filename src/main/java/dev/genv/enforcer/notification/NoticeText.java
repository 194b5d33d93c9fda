package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.record.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Says what happened, in sentences for a user. Text that users chose is escaped and bounded.
 *
 * @param killAfter the time from SIGTERM to SIGKILL; empty if no SIGKILL follows
 * @param registry the violations, also earlier ones
 */
public record NoticeText(Optional<Duration> killAfter, ViolationRegistry registry) {
    private static final int LONGEST_MESSAGE = 300;
    private static final int MOST_LISTED = 5;
    private static final int LONGEST_ID = 32;
    /** As many digits as docker ps shows. */
    private static final int SHORT_ID = 12;

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'").withZone(ZoneOffset.UTC);

    public String paragraph(PersonalNotice personal) {
        var notice = personal.notice();
        var rule = notice.violation().violation().rule();
        var subject = subject(personal);
        var verb = personal.processes().size() == 1 ? "breaks" : "break";
        var breaks = "%s %s the rule %s: %s.".formatted(subject, verb, rule.name(), message(notice.violation()));
        var advice = sentences(Stream.of(earlierDetachment(notice.violation().violation()), rule.advice()));
        return sentences(
                switch (notice.kind()) {
                    case OPENED -> Stream.of(breaks, "The service only reports this and takes no action.", advice);
                    case WARNED -> Stream.of(breaks, announcement(notice), advice);
                    case ACTED -> Stream.of(actionOn(subject, notice), killAfter(notice), advice);
                    case RESOLVED ->
                        Stream.of(
                                "%s no longer %s the rule %s.".formatted(subject, verb, rule.name()),
                                "The service took no action.");
                });
    }

    /** Returns what a notice is about, without text that users chose. */
    public static String title(PersonalNotice personal) {
        var notice = personal.notice();
        var action = notice.action();
        if (action == null) {
            return personal.processes().isEmpty()
                    ? "your environments break no rule any more"
                    : "process %d breaks %s"
                            .formatted(
                                    personal.processes().getFirst().pid(),
                                    notice.kind() == NoticeKind.OPENED ? "a rule" : "no rule any more");
        }
        var isWarning = notice.kind() == NoticeKind.WARNED;
        var is = notBefore(notice.violation(), action.target()).isPresent() ? "will" : "may";
        return switch (action.target()) {
            case ActionNote.TargetAttachment(var _, var _, var device) ->
                isWarning ? "GPU %d %s be detached".formatted(device, is) : "GPU %d was detached".formatted(device);
            case ActionNote.TargetProcess(var _, var pid) ->
                isWarning
                        ? "process %d %s be terminated".formatted(pid, is)
                        : "process %d: the service acted".formatted(pid);
        };
    }

    /** Returns a time as the texts show it. */
    public static String time(Instant at) {
        return TIME.format(at.truncatedTo(ChronoUnit.SECONDS));
    }

    private static String sentences(Stream<String> all) {
        return all.filter(sentence -> !sentence.isEmpty()).collect(Collectors.joining(" "));
    }

    /** A job on a GPU that the service detached needs the reason, because the user may not have read it at that time. */
    private String earlierDetachment(Violation later) {
        return registry.find(entry -> detachments(entry, later).findAny().isPresent(), 1).stream()
                .flatMap(entry -> detachments(entry, later).map(action -> detachment(entry, action)))
                .reduce((_, latest) -> latest)
                .orElse("");
    }

    private static Stream<ActionNote> detachments(ViolationRecord entry, Violation later) {
        return entry.actions().stream()
                .filter(action -> action.outcome() == Outcome.DETACHED && concerns(action.target(), later));
    }

    private static boolean concerns(ActionNote.Target target, Violation violation) {
        return target instanceof ActionNote.TargetAttachment(var host, var environment, var device)
                && host.equals(violation.host())
                && environment.equals(violation.environment())
                && violation.devices().contains(device);
    }

    private static String announcement(Notice notice) {
        var action = Objects.requireNonNull(notice.action(), "a warning is about an action");
        var what = switch (action.target()) {
            case ActionNote.TargetProcess _ -> "terminate it";
            case ActionNote.TargetAttachment(var _, var environment, var device) ->
                "detach GPU %d from environment %s".formatted(device, id(environment));
        };
        return sentences(Stream.of(
                notBefore(notice.violation(), action.target())
                        .map(at -> "The service will %s soon after %s, unless the violation ends before."
                                .formatted(what, time(at)))
                        .orElse("The service may %s later.".formatted(what)),
                Optional.ofNullable(action.detail())
                        .map(detail -> SafeText.escape(detail, LONGEST_MESSAGE))
                        .map("It does not act yet, because %s."::formatted)
                        .orElse("")));
    }

    /** Unknown if the service cannot say whether it will ever act. */
    private static Optional<Instant> notBefore(ViolationRecord violation, ActionNote.Target target) {
        return violation.next().stream()
                .filter(next -> next.target().equals(target))
                .map(NextAction::notBefore)
                .findFirst();
    }

    private static String actionOn(String subject, Notice notice) {
        var action = Objects.requireNonNull(notice.action(), "an action was taken");
        return switch (action.target()) {
            case ActionNote.TargetAttachment _ -> detachment(notice.violation(), action);
            case ActionNote.TargetProcess _ ->
                "The service sent SIG%s to %s, %s"
                        .formatted(
                                action.signal(),
                                Character.toLowerCase(subject.charAt(0)) + subject.substring(1),
                                why(notice.violation()));
        };
    }

    private static String detachment(ViolationRecord because, ActionNote action) {
        var target = action.target();
        return "The service detached GPU %d from environment %s on %s at %s, %s"
                .formatted(
                        target.detachedFrom(),
                        id(String.valueOf(target.detached())),
                        SafeText.escape(target.host()),
                        time(action.at()),
                        why(because));
    }

    /** Another user may have chosen the id, so a sentence in it must not look like one of the service. */
    private static String id(String environment) {
        return SafeText.quote(SafeText.escape(environment, LONGEST_ID));
    }

    private static String why(ViolationRecord violation) {
        return "because of the rule %s: %s."
                .formatted(violation.violation().rule().name(), message(violation));
    }

    private String killAfter(Notice notice) {
        var action = notice.action();
        var isTerm = action != null && action.sent().filter(Signal.TERM::equals).isPresent();
        return killAfter
                .filter(_ -> isTerm)
                .map(time -> "If it still breaks a rule after %d s, it gets SIGKILL.".formatted(time.toSeconds()))
                .orElse("");
    }

    private static String message(ViolationRecord violation) {
        return SafeText.escape(violation.violation().message(), LONGEST_MESSAGE);
    }

    private static String subject(PersonalNotice personal) {
        if (personal.processes().isEmpty()) {
            return "Your environments on %s".formatted(hosts(personal.notice()));
        }
        var names = personal.processes().stream().map(NoticeText::name).toList();
        return "%s %s on %s"
                .formatted(names.size() == 1 ? "Process" : "Your processes", list(names), hosts(personal.notice()));
    }

    private static String name(GpuProcess process) {
        return "%d (%s%s)".formatted(process.pid(), SafeText.escape(process.command()), workload(process.workload()));
    }

    /** In a container its user does not know the pid, so the message also names what the user has started. */
    private static String workload(@Nullable Workload workload) {
        var job = workload == null ? null : workload.slurmJob();
        var container = workload == null ? null : workload.container();
        return (job == null ? "" : ", Slurm job " + SafeText.escape(job.id()))
                + (container == null ? "" : ", container " + SafeText.escape(shortId(container.id())));
    }

    private static String shortId(String id) {
        return id.substring(0, Math.min(SHORT_ID, id.length()));
    }

    private static String hosts(Notice notice) {
        return list(notice.violation().violation().hosts().stream()
                .map(SafeText::escape)
                .sorted()
                .toList());
    }

    private static String list(List<String> all) {
        return all.size() <= MOST_LISTED
                ? String.join(", ", all)
                : "%s and %d more".formatted(String.join(", ", all.subList(0, MOST_LISTED)), all.size() - MOST_LISTED);
    }
}
