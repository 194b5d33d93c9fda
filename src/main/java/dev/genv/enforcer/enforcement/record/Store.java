package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.ViolationRegistry.StoredViolation;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Where the service keeps what it did, and what it needs after a restart. No method throws because of the disk, and none waits longer than
 * a fixed time for it: the service goes on without it, and {@link #problems} says so.
 */
public interface Store {
    /** Identifies the numbering of the stored events, which continues over restarts. */
    UUID id();

    /** Returns what earlier runs left. */
    Restored restore();

    /** Stores actions that are about to be executed. They are on the disk when it returns, unless the disk takes too long. */
    void begin(List<Intent> intents);

    /** Stores a cycle in one transaction. Returns whether it is on the disk; if not, the disk may still take it later. */
    boolean commit(CycleCommit cycle);

    /** Returns what is wrong with the store at present, and once what was. */
    List<Problem> problems();

    /** An action that is about to be executed; a later one has a higher number. */
    record Intent(long id, Instant at, PlannedAction planned) {}

    /**
     * An action of the past.
     *
     * @param id the number of its intent, or a new number for what was only observed, such as an exit
     * @param result null if nothing is to be kept, because the action was not executed, or repeats an earlier one without an effect
     */
    record Attempt(
            long id,
            Instant at,
            PlannedAction planned,
            @Nullable Result result) {}

    /**
     * What a cycle leaves. The store writes what changed. What an earlier commit may not have stored comes again.
     *
     * @param state what a later run continues with; users choose its size, so the store leaves out what is too large
     * @param active the active violations
     * @param open the actions without a result
     */
    record CycleCommit(
            SavedCycle cycle,
            SavedState state,
            List<StoredViolation> active,
            List<Event> events,
            List<Attempt> attempts,
            List<Intent> open) {}

    /**
     * What the earlier runs left.
     *
     * @param cycle the last cycle; empty if there is none
     * @param isSameBoot whether identities of processes are still valid
     * @param resolved the latest resolved violations, oldest first
     * @param intents the actions whose result no cycle recorded: they may have been executed
     * @param events the latest events, oldest first
     * @param lastEvent the position of the last event; 0 if there is none
     * @param lastIntent the highest number of an action; 0 if there is none
     * @param unreadable what was stored and cannot be read
     * @param hasLost whether something that earlier runs stored is lost, so that it is unknown whom they signalled
     */
    record Restored(
            Optional<SavedCycle> cycle,
            boolean isSameBoot,
            SavedState state,
            List<ViolationRecord> active,
            List<ViolationRecord> resolved,
            List<Intent> intents,
            List<Event> events,
            long lastEvent,
            long lastIntent,
            List<String> unreadable,
            boolean hasLost) {
        /** Returns nothing. */
        public static Restored nothing(boolean hasLost) {
            return new Restored(
                    Optional.empty(),
                    true,
                    SavedState.EMPTY,
                    List.of(),
                    List.of(),
                    List.of(),
                    List.of(),
                    0,
                    0,
                    List.of(),
                    hasLost);
        }
    }
}
