package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.history.state.StateChange;
import dev.genv.enforcer.enforcement.history.state.StateHistory;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What is known in a cycle for and against its actions. It is valid until the next cycle is recorded. Only {@link CycleHistory}
 * creates it, so no action is decided before its violation is recorded.
 */
public final class Evidence {
    private final SeenFleet seen;
    private final Plan plan;
    private final Map<Violation.Key, StateChange> behind;
    private final Histories histories;

    /**
     * The stay of a process in an environment of another user.
     *
     * @param belongs whether the environment belonged to the process's user in any observation of both
     * @param length for how long the process was observed as a stranger
     */
    public record Stay(boolean belongs, Duration length) {}

    /** A change of the state behind a violation, and for how long it was reported. */
    public record ReportedChange(StateChange change, Duration length) {}

    /** The histories that decisions rest on. */
    record Histories(
            StateHistory states, ViolationHistory violations, ChangeHistory changes, StrangerHistory strangers) {}

    Evidence(SeenFleet seen, Plan plan, Map<Violation.Key, StateChange> behind, Histories histories) {
        this.seen = seen;
        this.plan = plan;
        this.behind = Map.copyOf(behind);
        this.histories = histories;
    }

    public SeenFleet seen() {
        return seen;
    }

    public Plan plan() {
        return plan;
    }

    /** The state change behind each violation of the plan that rests on one. */
    public Map<Violation.Key, StateChange> changes() {
        return behind;
    }

    /** Returns for how long the violation was reported, its interruptions not counted. */
    public Duration reportedFor(Violation violation) {
        return histories.violations().reportedFor(violation);
    }

    /** Returns the change without which this action would not follow from the violation; empty if it rests on no change. */
    public Optional<ReportedChange> changeBehind(Violation cause, Action action) {
        return histories
                .changes()
                .changeBehind(cause, action)
                .map(change -> new ReportedChange(change, histories.changes().reportedFor(cause, action)));
    }

    /** Returns how long the service has observed the state that a violation may rest on; empty if no unobserved change can be
     * its reason. */
    public Optional<Duration> observedFor(Violation cause, Action action) {
        return histories.states().observedFor(cause, action);
    }

    /** Returns why a process cannot have been in the environment that it names, regardless of the present state. */
    public Optional<String> claimedByOthers(Action action) {
        return histories.states().claimedByOthers(action);
    }

    /** Whether a live pid of the environment that a process names ever had the real uid of the process. */
    public boolean hasHadUidOfProcess(Action action) {
        return histories.states().hasHadUidOfProcess(action);
    }

    /** Returns the stay of the process in the environment that it names; empty if it was never observed there. */
    public Optional<Stay> stay(Action action) {
        return histories.strangers().stay(action);
    }

    /**
     * Ends the cycle: violations that are over are forgotten after a while.
     *
     * @param active the violations that are active, as far as is known
     */
    public void endCycle(Set<Violation.Key> active) {
        histories.violations().forgetResolved(active);
    }
}
