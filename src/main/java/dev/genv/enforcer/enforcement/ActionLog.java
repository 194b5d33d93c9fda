package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** Logs new violations in genv's words, and every action also in a fixed format. */
public final class ActionLog {
    private static final Logger LOG = Logger.getLogger(ActionLog.class);

    private ActionLog() {}

    /** Logs new violations, before the actions that follow from them. Their number is bounded. */
    static void logNew(List<Violation> violations) {
        ReportLines.limit(violations.stream().map(Violation::message).toList(), "violations")
                .forEach(LOG::warn);
    }

    /** Logs a result when it arrives, if it may have had an effect. The cycle logs the others at its end, without repetitions. */
    static void logResult(Fleet fleet, ActionRecord action) {
        if (isLoggedAtOnce(action)) {
            log(fleet, action);
        }
    }

    /** Logs the end of a cycle: the actions that are not logged yet, in full, and resolved violations, whose number is bounded. */
    static void logEnd(Fleet fleet, ViolationRegistry.Update update) {
        update.actions().stream().filter(action -> !isLoggedAtOnce(action)).forEach(action -> log(fleet, action));
        var messages = update.resolved().stream()
                .map(entry -> entry.violation().message())
                .toList();
        ReportLines.limit(messages, "violations").forEach(message -> LOG.infof("Resolved: %s", message));
    }

    private static boolean isLoggedAtOnce(ActionRecord action) {
        return action.result().outcome().hasEffect() || action.result().uncertain();
    }

    private static void log(Fleet fleet, ActionRecord action) {
        ReportLines.of(fleet, action).forEach(LOG::warn);
        LOG.warn(fixedForm(action));
    }

    /** Returns one line with the same keys in the same order; a value that does not apply is {@code -}. */
    public static String fixedForm(ActionRecord done) {
        var rules = done.planned().rules().stream().map(RuleDefinition::name).collect(Collectors.joining(","));
        var outcome = "outcome=%s detail=%s"
                .formatted(
                        done.result().outcome().label(),
                        SafeText.quote(Objects.requireNonNullElse(done.result().detail(), "")));
        return switch (done.planned().action()) {
            case Action.Terminate(var host, var process, var signal) ->
                "action=terminate rules=%s host=%s pid=%d start_time=%d uid=%s environment=%s devices=%s signal=%s %s"
                        .formatted(
                                rules,
                                SafeText.escape(host),
                                process.pid(),
                                process.id().startTime(),
                                Objects.requireNonNullElse(process.uid(), "-"),
                                SafeText.quote(environmentOf(process)),
                                process.devices().stream().map(String::valueOf).collect(Collectors.joining(",")),
                                signal,
                                outcome);
            case Action.Detach(var host, var environment, var device, var attachment) ->
                "action=detach rules=%s host=%s pid=- start_time=- uid=%d environment=%s devices=%d signal=- %s"
                        .formatted(
                                rules,
                                SafeText.escape(host),
                                environment.uid(),
                                SafeText.quote(environment.eid()),
                                device,
                                outcome);
        };
    }

    private static String environmentOf(GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? eid : "N/A";
    }
}
