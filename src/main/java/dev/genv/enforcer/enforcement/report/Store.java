package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.ViolationRegistry.AccountNames;
import dev.genv.enforcer.enforcement.report.ViolationRegistry.StoredViolation;
import dev.genv.enforcer.model.Problem;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Where the service keeps what it did, and what it needs after a restart. No method throws because of the disk, and none waits longer than
 * a fixed time for it: the service goes on without it, and {@link #problems} says so.
 */
public interface Store {
    /** Identifies the numbering of the stored events, which continues over restarts. */
    UUID id();

    /** Returns what earlier runs left. */
    Restored restore();

    /** Stores entries of the state before the next commit. They are on the disk when it returns, unless the disk takes too long. */
    void begin(SavedState entries);

    /** Stores a cycle in one transaction. Returns whether it is on the disk; if not, the disk may still take it later. */
    boolean commit(CycleCommit cycle);

    /** Returns what is wrong with the store at present, and once what was. */
    List<Problem> problems();

    /**
     * What a cycle leaves. The store writes what changed. What an earlier commit may not have stored comes again.
     *
     * @param state what a later run continues with; users choose its size, so the store leaves out what is too large
     * @param active the active violations
     * @param actions the actions that may not be stored, by their number
     * @param names the names of the accounts that are known, for what was recorded under a uid
     */
    record CycleCommit(
            SavedCycle cycle,
            SavedState state,
            List<StoredViolation> active,
            List<Event> events,
            Map<Long, ActionRecord> actions,
            AccountNames names) {}

    /**
     * What the earlier runs left.
     *
     * @param cycle the last cycle; empty if there is none
     * @param isSameBoot whether identities of processes are still valid
     * @param resolved the latest resolved violations, oldest first
     * @param events the latest events, oldest first
     * @param lastEvent the position of the last event; 0 if there is none
     * @param lastAction the highest number of an action; 0 if there is none
     * @param unreadable what was stored and cannot be read
     * @param hasLost whether something that earlier runs stored is lost, so that it is unknown whom they signalled
     */
    record Restored(
            Optional<SavedCycle> cycle,
            boolean isSameBoot,
            SavedState state,
            List<ViolationRecord> active,
            List<ViolationRecord> resolved,
            List<Event> events,
            long lastEvent,
            long lastAction,
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
                    0,
                    0,
                    List.of(),
                    hasLost);
        }
    }
}
