package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Messages;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** Logs new violations in genv's words, and every action also in a fixed format. */
public final class ActionLog {
    private static final Logger LOG = Logger.getLogger(ActionLog.class);
    /** The largest number of lines of one kind in one cycle. */
    static final int MAX_LINES = 100;

    private ActionLog() {}

    /** Logs new violations, before the actions that follow from them. Their number is bounded. */
    static void logNew(List<Violation> violations) {
        limit(violations.stream().map(Violation::message).toList(), "violations")
                .forEach(LOG::warn);
    }

    /** Logs a result when it arrives, if it may have had an effect. The cycle logs the others at its end, without repetitions. */
    static void logResult(Fleet fleet, ActionRecord action) {
        if (action.result().mayHaveEffect()) {
            log(fleet, action);
        }
    }

    /** Logs the end of a cycle: the actions that are not logged yet, in full, and resolved violations, whose number is bounded. */
    static void logEnd(Fleet fleet, ViolationRegistry.Update update) {
        update.actions().stream()
                .filter(action -> !action.result().mayHaveEffect())
                .forEach(action -> log(fleet, action));
        var messages = update.resolved().stream()
                .map(entry -> entry.violation().message())
                .toList();
        limit(messages, "violations").forEach(message -> LOG.infof("Resolved: %s", message));
    }

    private static void log(Fleet fleet, ActionRecord action) {
        lines(fleet, action).forEach(LOG::warn);
        LOG.warn(fixedForm(action));
    }

    /** Returns a cycle in genv's words: violations, then terminations, then detachments. */
    static List<String> lines(CycleReport report) {
        var lines = new ArrayList<>(
                report.plan().violations().stream().map(Violation::message).toList());
        report.actions().forEach(action -> lines.addAll(lines(report.fleet(), action)));
        return lines;
    }

    /** Returns the action in genv's words, and a second line if it failed. An action that was not attempted says so at the end. */
    static List<String> lines(Fleet fleet, ActionRecord done) {
        var action = done.planned().action();
        var host = Messages.on(fleet, action.host());
        var result = done.result();
        return switch (result.outcome()) {
            case SIGNALLED, DETACHED -> List.of(host + Messages.of(action));
            case EXITED -> List.of(host + "Process " + pid(action) + " has ended");
            case SKIPPED_AUDIT,
                    SKIPPED_PROTECTED,
                    SKIPPED_EXEMPT,
                    SKIPPED_LIMIT,
                    SKIPPED_GRACE,
                    SKIPPED_PRIVILEGE,
                    SKIPPED_UNCONFIRMED,
                    SKIPPED_STALE,
                    UNKILLABLE,
                    FAILED,
                    ALREADY_DETACHED ->
                List.of("%s%s (%s: %s)"
                        .formatted(
                                host,
                                result.outcome() == Outcome.SKIPPED_AUDIT
                                        ? Messages.wouldBe(action)
                                        : Messages.of(action),
                                result.outcome().label(),
                                result.detail() == null ? "nothing to do" : SafeText.escape(result.detail())));
            case DENIED ->
                List.of(
                        host + Messages.of(action),
                        host + "Not enough permissions to terminate process " + pid(action));
            case ALREADY_GONE ->
                List.of(host + Messages.of(action), host + "Process " + pid(action) + " already terminated");
        };
    }

    private static int pid(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> process.pid();
            case Action.Detach detach -> throw new IllegalArgumentException("a detachment has no process: " + detach);
        };
    }

    /** Returns the first lines, and the number of the others, because users influence how many there are. */
    static List<String> limit(List<String> all, String of) {
        return all.size() <= MAX_LINES
                ? all
                : Stream.concat(
                                all.stream().limit(MAX_LINES),
                                Stream.of("and %d more %s".formatted(all.size() - MAX_LINES, of)))
                        .toList();
    }

    /** Returns one line with the same keys in the same order; a value that does not apply is {@code -}. */
    public static String fixedForm(ActionRecord done) {
        var action = done.planned().action();
        var termination = action instanceof Action.Terminate terminate ? terminate : null;
        var isOutside =
                termination != null && !(termination.process().membership() instanceof Membership.InEnvironment);
        return "action=%s rules=%s host=%s pid=%s start_time=%s uid=%s user=%s command=%s environment=%s devices=%s signal=%s outcome=%s detail=%s"
                .formatted(
                        action.type(),
                        String.join(",", done.planned().ruleNames()),
                        SafeText.escape(action.host()),
                        termination == null ? "-" : termination.process().pid(),
                        termination == null ? "-" : termination.process().id().startTime(),
                        Objects.requireNonNullElse(action.uid(), "-"),
                        done.planned().user().map(SafeText::quote).orElse("-"),
                        termination == null
                                ? "-"
                                : SafeText.quote(termination.process().command()),
                        SafeText.quote(isOutside ? "N/A" : action.environmentId()),
                        action.devices().stream().map(String::valueOf).collect(Collectors.joining(",")),
                        termination == null ? "-" : termination.signal(),
                        done.result().outcome().label(),
                        SafeText.quote(Objects.requireNonNullElse(done.result().detail(), "")));
    }
}
