package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.model.Problem;
import java.util.List;
import java.util.Optional;

/**
 * The memory of the service beyond its own life. No method throws because of the disk, and none waits longer than a fixed time for it:
 * the service goes on without the journal, and {@link #problems} says so.
 */
public interface Journal extends AutoCloseable {
    /** Keeps nothing. */
    Journal NONE = new NoJournal();

    /** Whether it keeps anything. It does not if it could not be read at the start. */
    boolean isEnabled();

    /** Returns what the earlier runs left, once. Empty if it could not be read. */
    Optional<Restored> takeRestored();

    /** Records actions that are about to be executed. They are on the disk when it returns, unless the disk takes too long. */
    void begin(List<ActionIntent> intents);

    /** Records the result of an action soon, without waiting. */
    void end(ActionIntent.Outcome outcome);

    /** Records a cycle. Returns whether it is on the disk; if not, the disk may still take it later. */
    boolean commit(CycleCommit cycle);

    /** Returns what is wrong with the journal at present. */
    List<Problem> problems();

    /** Writes what is left, and releases the journal for other services. */
    @Override
    void close();

    /**
     * What a cycle leaves in the journal, which writes what changed. Users choose the size of the violations and of the history,
     * so the journal leaves out what is too large.
     *
     * @param events its events, and those of earlier cycles that may not be on the disk
     * @param state what a later run needs in any case
     * @param history the history of genv's state, for grace periods; it is of use as a whole only
     */
    record CycleCommit(
            List<Event> events, SavedCycle cycle, SavedState state, SavedState violations, SavedState history) {
        /** Returns everything that is saved. */
        public SavedState saved() {
            return state.with(violations).with(history);
        }
    }

    /**
     * What the earlier runs left.
     *
     * @param memory the memory of the cycles; empty if there is none
     * @param actions the actions that no cycle recorded. If an action has no result, it may have been executed, and its result
     *     says so
     * @param resolved the latest resolved violations, oldest first
     * @param events the latest events, oldest first
     * @param lastSequence the position of the last event; 0 if there is none
     * @param lastIntent the highest number of an intent; 0 if there is none
     */
    record Restored(
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

    /** The journal of a service that has none. */
    final class NoJournal implements Journal {
        @Override
        public boolean isEnabled() {
            return false;
        }

        @Override
        public Optional<Restored> takeRestored() {
            return Optional.empty();
        }

        @Override
        public void begin(List<ActionIntent> intents) {
            // nothing is kept
        }

        @Override
        public void end(ActionIntent.Outcome outcome) {
            // nothing is kept
        }

        @Override
        public boolean commit(CycleCommit cycle) {
            return false;
        }

        @Override
        public List<Problem> problems() {
            return List.of();
        }

        @Override
        public void close() {
            // nothing is open
        }
    }
}
