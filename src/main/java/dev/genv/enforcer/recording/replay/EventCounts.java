package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Counts violations and executed actions by user and rule between two instants. */
public final class EventCounts {
    /** The largest number of users with counts of their own, because users can write any name. */
    static final int MAX_USERS = 2_000;

    private static final Comparator<RuleDefinition> BY_NAME = Comparator.comparing(RuleDefinition::name);

    private final Instant from;
    private final Instant to;
    private final UserNames names;
    private final Map<Optional<String>, OfUser> users = new HashMap<>();
    /** The actions of one cycle, each of which has an event for every violation that asked for it. */
    private final Set<ActionNote.Target> ofCycle = new HashSet<>();

    private @Nullable Instant cycle;

    /**
     * Numbers of violations and actions.
     *
     * @param violations the violations that began
     * @param terminations the processes that got SIGTERM
     * @param detachments the attachments that were removed
     */
    public record Counts(long violations, long terminations, long detachments) {
        static final Counts NONE = new Counts(0, 0, 0);
        static final Counts VIOLATION = new Counts(1, 0, 0);
        static final Counts TERMINATION = new Counts(0, 1, 0);
        static final Counts DETACHMENT = new Counts(0, 0, 1);

        Counts plus(Counts other) {
            return new Counts(
                    violations + other.violations, terminations + other.terminations, detachments + other.detachments);
        }
    }

    /** The counts of one user. */
    public static final class OfUser {
        private final Map<RuleDefinition, Counts> byRule = new TreeMap<>(BY_NAME);
        private Counts total = Counts.NONE;

        /** The counts by rule. An action that several rules asked for counts for each of them. */
        public Map<RuleDefinition, Counts> byRule() {
            return Map.copyOf(byRule);
        }

        /** The counts, each action once. */
        public Counts total() {
            return total;
        }

        private void add(RuleDefinition rule, Counts one, boolean isNew) {
            byRule.merge(rule, one, Counts::plus);
            total = isNew ? total.plus(one) : total;
        }
    }

    /**
     * Creates empty counts.
     *
     * @param names those that the recorded cycles show
     */
    public EventCounts(Instant from, Instant to, UserNames names) {
        this.from = from;
        this.to = to;
        this.names = names;
    }

    public void add(Event event) {
        if (event.at().isBefore(from) || event.at().isAfter(to)) {
            return;
        }
        switch (event.content()) {
            case EventContent.ViolationOpened(var opened) -> count(opened.violation(), Counts.VIOLATION, true);
            case EventContent.ActionRecorded(var violation, var action) -> add(event.at(), violation, action);
            default -> {}
        }
    }

    private void add(Instant at, ViolationRecord record, ActionNote action) {
        if (!at.equals(cycle)) {
            cycle = at;
            ofCycle.clear();
        }
        var counts = counts(action);
        if (!counts.equals(Counts.NONE)) {
            var isNew = ofCycle.add(action.target());
            count(record.violation(), counts, isNew);
        }
    }

    private static Counts counts(ActionNote action) {
        return switch (action.target()) {
            case ActionNote.TargetProcess _ ->
                action.outcome() == Outcome.SIGNALLED && action.sent().equals(Optional.of(Signal.TERM))
                        ? Counts.TERMINATION
                        : Counts.NONE;
            case ActionNote.TargetAttachment _ ->
                action.outcome() == Outcome.DETACHED ? Counts.DETACHMENT : Counts.NONE;
        };
    }

    private void count(Violation violation, Counts one, boolean isNew) {
        var user = names.nameOf(names.ofViolation(violation));
        var key = users.containsKey(user) || users.size() < MAX_USERS ? user : Optional.<String>empty();
        users.computeIfAbsent(key, _ -> new OfUser()).add(violation.rule(), one, isNew);
    }

    /** Returns the counts by user; an empty user stands for all who are not known. */
    public Map<Optional<String>, OfUser> byUser() {
        return Map.copyOf(users);
    }
}
