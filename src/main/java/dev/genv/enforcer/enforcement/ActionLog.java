package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Words;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** Tells the log what is new: violations in genv's words, and every action also in one fixed form. */
final class ActionLog {
    private static final Logger LOG = Logger.getLogger(ActionLog.class);

    private ActionLog() {}

    /** What was done is told in full; of what was only seen, as much as anybody can read. */
    static void tell(Fleet fleet, Journal.Update update) {
        LogLines.bounded(messages(update.appeared()), "violations").forEach(LOG::warn);
        for (var action : update.actions()) {
            ReportLines.of(fleet, action).forEach(LOG::warn);
            LOG.warn(fixedForm(action));
        }
        LogLines.bounded(messages(update.resolved()), "violations")
                .forEach(message -> LOG.infof("Resolved: %s", message));
    }

    private static List<String> messages(List<JournalEntry> entries) {
        return entries.stream().map(entry -> entry.violation().message()).toList();
    }

    /** One line, always with the same keys in the same order; what does not apply is {@code -}. */
    static String fixedForm(ActionRecord done) {
        var rules = done.planned().rules().stream().map(RuleName::label).collect(Collectors.joining(","));
        var outcome = "outcome=%s detail=%s"
                .formatted(
                        done.result().outcome().label(),
                        Words.quoted(Objects.requireNonNullElse(done.result().detail(), "")));
        return switch (done.planned().action()) {
            case Action.Terminate(var host, var process, var signal) ->
                "action=terminate rules=%s host=%s pid=%d start_time=%d uid=%s environment=%s devices=%s signal=%s %s"
                        .formatted(
                                rules,
                                Words.safe(host),
                                process.pid(),
                                process.id().startTime(),
                                Objects.requireNonNullElse(process.uid(), "-"),
                                Words.quoted(environmentOf(process)),
                                process.devices().stream().map(String::valueOf).collect(Collectors.joining(",")),
                                signal,
                                outcome);
            case Action.Detach(var host, var environment, var device, var attachment) ->
                "action=detach rules=%s host=%s pid=- start_time=- uid=%d environment=%s devices=%d signal=- %s"
                        .formatted(
                                rules,
                                Words.safe(host),
                                environment.uid(),
                                Words.quoted(environment.eid()),
                                device,
                                outcome);
        };
    }

    private static String environmentOf(GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? eid : "N/A";
    }
}
