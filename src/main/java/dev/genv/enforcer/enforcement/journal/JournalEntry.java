package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.enforcement.history.state.StateChange;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A violation from its appearance to its resolution.
 *
 * @param id stays the same as long as the violation is active
 * @param violation as it was last observed
 * @param mode the weaker one of the modes of its rule and of the service
 * @param cycles the number of cycles that found it
 * @param actions the actions on it, oldest first
 * @param recency its position among all entries, independent of the wall clock
 * @param change the state change on which it rests; null if none is known
 */
public record JournalEntry(
        String id,
        Violation violation,
        RuleMode mode,
        boolean active,
        Instant firstSeen,
        Instant lastSeen,
        int cycles,
        List<ActionNote> actions,
        @Nullable StateChange change,
        Recency recency) {

    /**
     * The position of an entry among all entries.
     *
     * @param number the number of its appearance, higher than that of every earlier one
     * @param latest the latest time at which any entry was observed by then; it is after {@code lastSeen} if the wall clock was set
     *     back. Queries by time use it
     */
    public record Recency(long number, Instant latest) {}

    /**
     * An action on a violation.
     *
     * @param type {@code terminate} or {@code detach}
     * @param pid the process that was signalled; null for a detachment
     * @param signal the name of the signal; null if none was sent
     * @param environment the environment that was detached; null for a termination
     * @param device the device that it was detached from; null for a termination
     */
    public record ActionNote(
            String type,
            @Nullable Integer pid,
            @Nullable String signal,
            @Nullable String environment,
            @Nullable Integer device,
            Instant at,
            Outcome outcome,
            @Nullable String detail) {

        /** Whether another action is the same except for its time. */
        boolean repeats(ActionNote other) {
            return withTime(other.at).equals(other);
        }

        private ActionNote withTime(Instant time) {
            return new ActionNote(type, pid, signal, environment, device, time, outcome, detail);
        }
    }

    /**
     * Returns this entry after another cycle found the violation.
     *
     * @param at the time by the wall clock, which may have been set back
     * @param latest see {@link Recency}
     */
    JournalEntry seenAgain(Violation now, RuleMode nowMode, Instant at, Instant latest) {
        return new JournalEntry(
                id,
                now,
                nowMode,
                true,
                firstSeen,
                at.isBefore(firstSeen) ? firstSeen : at,
                cycles + 1,
                actions,
                change,
                new Recency(recency.number(), latest));
    }

    JournalEntry with(List<ActionNote> all) {
        return new JournalEntry(
                id, violation, mode, active, firstSeen, lastSeen, cycles, List.copyOf(all), change, recency);
    }

    /** Adds a state change; a known one is kept. */
    JournalEntry withStateChange(@Nullable StateChange other) {
        return other == null
                ? this
                : new JournalEntry(id, violation, mode, active, firstSeen, lastSeen, cycles, actions, other, recency);
    }

    JournalEntry resolved() {
        return new JournalEntry(id, violation, mode, false, firstSeen, lastSeen, cycles, actions, change, recency);
    }
}
