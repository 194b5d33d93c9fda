package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.report.ViolationRecord.NextAction;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Says what happened, in sentences for a user. Text that users chose is escaped and bounded.
 *
 * @param killAfter the time from SIGTERM to SIGKILL; empty if no SIGKILL follows
 * @param registry the violations, also earlier ones
 * @param users knows when processes were started
 * @param zone of the times
 * @param page the address of the page, without a slash at its end; empty if users cannot open it
 */
public record NoticeText(
        Optional<Duration> killAfter,
        ViolationRegistry registry,
        UserDirectory users,
        ZoneId zone,
        Optional<URI> page) {
    private static final int LONGEST_MESSAGE = 300;
    /** An amount of memory in a message of genv; an id with such words in it only looks different. */
    private static final Pattern AMOUNT =
            Pattern.compile("(?<=( using | which is | capacity of ))[0-9.]+[kmg]i?b?(?= |$)");

    private static final int MOST_LISTED = 5;
    private static final int MOST_NUMBERS = 50;
    private static final int LONGEST_ID = 32;
    /** As many digits as docker ps shows. */
    private static final int SHORT_ID = 12;

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss zzz", Locale.ENGLISH);

    /** Returns groups of notices that one paragraph can describe: the same happened to several processes for the same reason. */
    static List<List<Notice>> groups(List<Notice> notices) {
        return List.copyOf(notices.stream()
                .collect(Collectors.groupingBy(Incident::of, LinkedHashMap::new, Collectors.toList()))
                .values());
    }

    /**
     * What the notices of one paragraph have in common.
     *
     * @param attachment what was detached, of which each has its own paragraph
     */
    private record Incident(
            NoticeKind kind,
            RuleDefinition rule,
            Set<String> hosts,
            @Nullable String environment,
            @Nullable Outcome outcome,
            @Nullable String signal,
            ActionNote.@Nullable Target attachment) {
        static Incident of(Notice notice) {
            var violation = notice.violation().violation();
            var action = notice.action();
            return new Incident(
                    notice.kind(),
                    violation.rule(),
                    violation.hosts(),
                    violation.environment(),
                    action == null ? null : action.outcome(),
                    action == null ? null : action.signal(),
                    action == null || action.target().isProcess() ? null : action.target());
        }
    }

    /** Returns the sentences about the notices of a {@link #groups group}. */
    public String paragraph(List<Notice> group) {
        var notice = group.getFirst();
        var violation = notice.violation().violation();
        var processes = processes(group);
        var subject = subject(notice, processes);
        var verb = processes.size() == 1 ? "breaks" : "break";
        var why = group.size() == 1 ? message(notice.violation()) : reason(violation, processes);
        var breaks = "%s %s the rule %s: %s."
                .formatted(subject, verb, violation.rule().name(), why);
        var advice = sentences(
                Stream.of(earlierDetachment(violation), violation.rule().advice(), link(group)));
        return sentences(
                switch (notice.kind()) {
                    case OPENED -> Stream.of(breaks, "The service only reports this and takes no action.", advice);
                    case WARNED -> Stream.of(breaks, announcement(notice, processes.size()), advice);
                    case ACTED -> Stream.of(actionOn(subject, why, notice), killAfter(notice), advice);
                    case RESOLVED ->
                        Stream.of(
                                "%s no longer %s the rule %s."
                                        .formatted(
                                                subject, verb, violation.rule().name()),
                                "The service took no action.");
                });
    }

    /** The messages of several violations differ only in their processes. */
    private static String reason(Violation violation, List<GpuProcess> processes) {
        var devices = processes.stream()
                .flatMap(process -> process.devices().stream())
                .distinct()
                .sorted()
                .map(String::valueOf)
                .collect(Collectors.joining(","));
        var title = Character.toLowerCase(violation.rule().title().charAt(0))
                + violation.rule().title().substring(1);
        var environment = violation.environment() == null ? "" : ", environment " + id(violation.environment());
        return title + (devices.isEmpty() ? "" : ", GPU(s) " + devices) + environment;
    }

    private String link(List<Notice> group) {
        return page.map(address -> "See " + Notice.address(address, group)).orElse("");
    }

    private static List<GpuProcess> processes(List<Notice> group) {
        return group.stream()
                .flatMap(notice -> notice.processes().stream())
                .distinct()
                .toList();
    }

    /** Returns what a group of notices is about and where, without text that users chose. */
    static String title(List<Notice> group) {
        var notice = group.getFirst();
        var processes = processes(group);
        var on = on(group);
        var its = (processes.size() == 1
                        ? "process %d".formatted(processes.getFirst().pid())
                        : "%d processes".formatted(processes.size()))
                + on;
        var verb = processes.size() == 1 ? "breaks" : "break";
        var action = notice.action();
        if (action == null) {
            return processes.isEmpty()
                    ? "your environments%s break no rule any more".formatted(on)
                    : "%s %s %s"
                            .formatted(its, verb, notice.kind() == NoticeKind.OPENED ? "a rule" : "no rule any more");
        }
        var isWarning = notice.kind() == NoticeKind.WARNED;
        var is = notBefore(notice.violation(), action.target()).isPresent() ? "will" : "may";
        if (action.target().isProcess()) {
            var was = processes.size() == 1 ? "was" : "were";
            return "%s %s terminated".formatted(its, isWarning ? is + " be" : was);
        }
        return "GPU %d%s %s detached".formatted(action.target().device(), on, isWarning ? is + " be" : "was");
    }

    /** Says on which host notices are, or on how many. */
    static String on(List<Notice> notices) {
        var hosts = notices.stream()
                .flatMap(notice -> notice.violation().violation().hosts().stream())
                .distinct()
                .toList();
        return hosts.size() == 1
                ? " on " + SafeText.escape(hosts.getFirst())
                : hosts.isEmpty() ? "" : " on %d hosts".formatted(hosts.size());
    }

    /** Returns a time as the texts show it. */
    public String time(Instant at) {
        return TIME.format(at.truncatedTo(ChronoUnit.SECONDS).atZone(zone));
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
        return target.device() != null
                && target.host().equals(violation.host())
                && Objects.equals(target.environment(), violation.environment())
                && violation.devices().contains(target.device());
    }

    private String announcement(Notice notice, int processes) {
        var action = Objects.requireNonNull(notice.action(), "a warning is about an action");
        var what = action.target().isProcess()
                ? processes == 1 ? "terminate it" : "terminate them"
                : "detach " + attachment(action.target());
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

    private String actionOn(String subject, String why, Notice notice) {
        var action = Objects.requireNonNull(notice.action(), "an action was taken");
        return action.target().isProcess()
                ? "The service sent SIG%s to %s, because of the rule %s: %s."
                        .formatted(
                                action.signal(),
                                Character.toLowerCase(subject.charAt(0)) + subject.substring(1),
                                notice.violation().violation().rule().name(),
                                why)
                : detachment(notice.violation(), action);
    }

    private String detachment(ViolationRecord because, ActionNote action) {
        var target = action.target();
        return "The service detached %s on %s at %s, %s"
                .formatted(attachment(target), SafeText.escape(target.host()), time(action.at()), why(because));
    }

    private static String attachment(ActionNote.Target target) {
        return "GPU %d from environment %s".formatted(target.device(), id(String.valueOf(target.environment())));
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
                .map(time -> "What still breaks a rule after %d s gets SIGKILL.".formatted(time.toSeconds()))
                .orElse("");
    }

    /** genv's messages have decimal megabytes and the unit of a limit; a text for users has MiB only, as nvidia-smi. */
    private static String message(ViolationRecord violation) {
        var message = AMOUNT.matcher(violation.violation().message())
                .replaceAll(amount -> Memory.parse(amount.group())
                        .map(memory -> "%d MiB".formatted(memory.mebibytes()))
                        .orElse(amount.group()));
        return SafeText.escape(message, LONGEST_MESSAGE);
    }

    private String subject(Notice notice, List<GpuProcess> processes) {
        var hosts = hosts(notice);
        if (processes.isEmpty()) {
            return "Your environments on %s".formatted(hosts);
        }
        var host = notice.violation().violation().host();
        var areDescribed = processes.size() <= MOST_LISTED;
        var list = list(
                processes.stream()
                        .map(process -> areDescribed ? describe(process, host) : Integer.toString(process.pid()))
                        .toList(),
                MOST_NUMBERS);
        return processes.size() == 1
                ? "Process %s on %s".formatted(list, hosts)
                : "Your %sprocesses %s on %s".formatted(areDescribed ? "" : processes.size() + " ", list, hosts);
    }

    /** Says what the user recognizes a process by, and what is lost with it: its GPUs, its memory and its start. */
    private String describe(GpuProcess process, @Nullable String host) {
        var start = host == null
                ? ""
                : users.startOf(host, process.id())
                        .map(at -> ", started " + time(at))
                        .orElse("");
        return "%d (%s%s%s%s)"
                .formatted(
                        process.pid(),
                        SafeText.escape(process.command()),
                        devices(process),
                        start,
                        workload(process.workload()));
    }

    private static String devices(GpuProcess process) {
        return process.usage().stream()
                .map(use -> ", GPU %d%s"
                        .formatted(
                                use.device(),
                                use.memory() == null
                                        ? ""
                                        : " with %d MiB".formatted(use.memory().mebibytes())))
                .collect(Collectors.joining());
    }

    /** In a container its user does not know the pid, so the message also names what the user has started. */
    private static String workload(Workload workload) {
        var job = workload.slurmJob();
        var container = workload.container();
        return (job == null ? "" : ", Slurm job " + SafeText.escape(job.id()))
                + (container == null ? "" : ", container " + SafeText.escape(shortId(container.id())));
    }

    private static String shortId(String id) {
        return id.substring(0, Math.min(SHORT_ID, id.length()));
    }

    private static String hosts(Notice notice) {
        return list(
                notice.violation().violation().hosts().stream()
                        .map(SafeText::escape)
                        .sorted()
                        .toList(),
                MOST_LISTED);
    }

    private static String list(List<String> all, int most) {
        return all.size() <= most
                ? String.join(", ", all)
                : "%s and %d more".formatted(String.join(", ", all.subList(0, most)), all.size() - most);
    }
}
