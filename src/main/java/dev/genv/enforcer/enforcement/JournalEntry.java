package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.Violation;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A violation through its life.
 *
 * @param id stays the same as long as the trouble lasts
 * @param violation as it was last seen
 * @param mode what is done about it: the weaker one of its rule's and the service's
 * @param cycles in how many cycles it was seen
 * @param actions what was done about it, oldest first
 * @param recency its place among the others, which no setting of the wall clock changes
 * @param change what somebody changed in the state, without which it would not be one; null where nothing is known of it
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
        @Nullable Change change,
        Recency recency) {

    /**
     * When it was seen, compared with others.
     *
     * @param number of its appearance: higher than that of every earlier one
     * @param latest the latest time that any entry had been seen at by then, which is after {@code lastSeen} where the wall clock
     *     was set back; what is asked for since some time is found by it
     */
    public record Recency(long number, Instant latest) {}

    /**
     * Something that was done about a violation.
     *
     * @param type {@code terminate} or {@code detach}
     * @param pid the process that was signalled; null for a detachment
     * @param signal its name; null where none was sent
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

        /** Whether it says the same, at another time. */
        boolean repeats(ActionNote other) {
            return withTime(other.at).equals(other);
        }

        private ActionNote withTime(Instant time) {
            return new ActionNote(type, pid, signal, environment, device, time, outcome, detail);
        }
    }

    /**
     * The same in another cycle.
     *
     * @param at by the wall clock, which may have been set back
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

    /** What was once known to have changed stays known. */
    JournalEntry changedBy(@Nullable Change other) {
        return other == null
                ? this
                : new JournalEntry(id, violation, mode, active, firstSeen, lastSeen, cycles, actions, other, recency);
    }

    JournalEntry resolved() {
        return new JournalEntry(id, violation, mode, false, firstSeen, lastSeen, cycles, actions, change, recency);
    }
}
