package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.saved.SavedCycle;
import dev.genv.enforcer.enforcement.saved.SavedState;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import java.util.List;
import java.util.Optional;

/**
 * What the earlier runs left.
 *
 * @param memory the memory of the cycles; empty if there is none
 * @param actions the actions that no cycle recorded. If an action has no result, it may have been executed, and its result says so
 * @param resolved the latest resolved violations, oldest first
 * @param events the latest events, oldest first
 * @param lastSequence the position of the last event; 0 if there is none
 * @param lastIntent the highest number of an intent; 0 if there is none
 */
public record Restored(
        Optional<Memory> memory,
        List<ActionRecord> actions,
        List<ViolationRecord> resolved,
        List<Event> events,
        long lastSequence,
        long lastIntent) {
    /** Nothing. */
    public static final Restored NOTHING = new Restored(Optional.empty(), List.of(), List.of(), List.of(), 0, 0);

    /**
     * The memory of the cycles.
     *
     * @param scope what of it is valid now
     */
    public record Memory(SavedCycle cycle, SavedState state, Scope scope) {}

    /** What of a memory is valid now. */
    public enum Scope {
        /** Everything. */
        ALL,
        /** Not the history of the state, because a part of it is lost: graces begin again. */
        WITHOUT_STATE_HISTORY,
        /** Nothing that concerns processes, because their identities are not valid any more: all violations are over. */
        WITHOUT_PROCESSES
    }
}
