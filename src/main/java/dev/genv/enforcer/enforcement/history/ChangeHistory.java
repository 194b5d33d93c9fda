package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.state.BoundedText;
import dev.genv.enforcer.enforcement.history.state.StateChange;
import dev.genv.enforcer.enforcement.history.state.StateHistory;
import dev.genv.enforcer.enforcement.history.time.VisibleTime;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The state changes on which violations rest, and for how long each was reported. */
public final class ChangeHistory {
    /** A violation that was absent for this time gets its whole grace again. */
    private static final Duration RETENTION = Duration.ofHours(1);

    private final StateHistory states;
    private final Ticker ticker;
    private final VisibleTime<Key> reported;
    /** What may rest on a change that was not observed. */
    private final Map<Key, StateChange> possible = new HashMap<>();

    /** A subject whose violation rests on a change of the state of one environment. */
    public record Key(Subject subject, String environment) {
        static Key of(Violation cause, Action action) {
            return new Key(Subject.of(cause.key()), BoundedText.of(action.environmentId()));
        }
    }

    /**
     * What is saved of a key.
     *
     * @param reported for how long the change was reported
     * @param possible a change that was not observed; null if none is possible
     */
    public record Saved(
            VisibleTime.Visibility reported, @Nullable StateChange possible) {}

    ChangeHistory(StateHistory states, Ticker ticker) {
        this.states = states;
        this.ticker = ticker;
        reported = new VisibleTime<>(ticker);
    }

    Map<Key, Saved> save() {
        var saved = new HashMap<Key, Saved>();
        reported.save().forEach((key, visibility) -> saved.put(key, new Saved(visibility, possible.get(key))));
        return saved;
    }

    void restore(Map<Key, Saved> saved) {
        var visibilities = new HashMap<Key, VisibleTime.Visibility>();
        saved.forEach((key, was) -> {
            visibilities.put(key, was.reported);
            if (was.possible != null) {
                possible.put(key, was.possible);
            }
        });
        reported.restore(visibilities);
    }

    /**
     * Records the changes behind the violations of a plan.
     *
     * @return for each violation that rests on a change of the state that the service did not make: the change
     */
    Map<Violation.Key, StateChange> record(Plan plan) {
        var changes = new HashMap<Violation.Key, StateChange>();
        var resting = new HashSet<Key>();
        for (var planned : plan.actions()) {
            for (var cause : planned.causes()) {
                var key = Key.of(cause, planned.action());
                if (states.mayHideChange(cause, planned.action())) {
                    possible.computeIfAbsent(key, _ -> unobserved());
                }
                changeBehind(cause, planned.action()).ifPresent(change -> {
                    changes.put(cause.key(), change);
                    resting.add(key);
                });
            }
        }
        reported.record(resting);
        reported.forget(RETENTION, ViolationHistory.MAX_REMEMBERED);
        possible.keySet().removeIf(key -> !reported.isRemembered(key));
        return changes;
    }

    /** Returns the change without which this action would not follow from the violation; empty if it rests on no change. */
    Optional<StateChange> changeBehind(Violation cause, Action action) {
        return Optional.ofNullable(states.changeBehind(cause, action))
                .or(() -> Optional.ofNullable(possible.get(Key.of(cause, action))));
    }

    /** Returns for how long the change behind this violation was reported. */
    Duration reportedFor(Violation cause, Action action) {
        return reported.durationOf(Key.of(cause, action));
    }

    private StateChange unobserved() {
        return new StateChange(
                "not known, because the state was changed between the start of a process and its first observation",
                "the rule is broken",
                ticker.now());
    }
}
