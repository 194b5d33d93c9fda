package dev.genv.enforcer.enforcement.violation;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry.NotedAction;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Records actions with the violations of the registry that caused them. */
final class ActionRecorder {
    /** A limit, because a detachment may fail differently in every cycle. */
    static final int MAX_ACTIONS = 100;

    private final Map<Violation.Key, ViolationRecord> active;
    private final ResolvedViolations resolved;

    ActionRecorder(Map<Violation.Key, ViolationRecord> active, ResolvedViolations resolved) {
        this.active = active;
        this.resolved = resolved;
    }

    /** The actions that are not repetitions, and the same once for each violation that caused them. */
    record RecordedActions(List<ActionRecord> actions, List<NotedAction> notes) {}

    /** Records the actions with the violations that caused them; repetitions are left out. */
    RecordedActions record(List<ActionRecord> records, Function<RuleDefinition, RuleMode> modes) {
        var actions = new ArrayList<ActionRecord>();
        var notes = new ArrayList<NotedAction>();
        for (var each : records) {
            var noted = each.planned().causes().stream()
                    .flatMap(cause -> recordAction(each, cause, modes.apply(cause.rule())).stream())
                    .toList();
            notes.addAll(noted);
            if (!noted.isEmpty()) {
                actions.add(each);
            }
        }
        return new RecordedActions(actions, notes);
    }

    private Optional<NotedAction> recordAction(ActionRecord each, Violation cause, RuleMode mode) {
        var entry = active.get(cause.key());
        if (entry == null) {
            return each.result().outcome() == Outcome.EXITED ? recordLateExit(each, cause) : Optional.empty();
        }
        var done = mode == RuleMode.ENFORCE || each.result().outcome().isSkipped()
                ? each.result()
                : new Result(Outcome.SKIPPED_AUDIT, "executed for another rule; this one only audits");
        var note = ViolationRecord.ActionNote.of(each.planned().action(), done, each.at());
        var last = entry.actions().reversed().stream()
                .filter(earlier -> earlier.target().equals(note.target()))
                .findFirst();
        if (!note.outcome().hasEffect() && last.isPresent() && last.get().repeats(note)) {
            return Optional.empty();
        }
        var noted = new NotedAction(entry.with(added(entry, note)), note);
        active.put(cause.key(), noted.violation());
        return Optional.of(noted);
    }

    /** A process may release its device before it exits, so its exit may come after the violation was resolved. */
    private Optional<NotedAction> recordLateExit(ActionRecord each, Violation cause) {
        var note = ViolationRecord.ActionNote.of(each.planned().action(), each.result(), each.at());
        return resolved.remove(cause.key()).map(over -> {
            var noted = new NotedAction(over.with(added(over, note)), note);
            resolved.add(noted.violation());
            return noted;
        });
    }

    private static List<ViolationRecord.ActionNote> added(ViolationRecord entry, ViolationRecord.ActionNote note) {
        var actions = new ArrayList<>(entry.actions());
        actions.add(note);
        return actions.subList(Math.max(0, actions.size() - MAX_ACTIONS), actions.size());
    }
}
