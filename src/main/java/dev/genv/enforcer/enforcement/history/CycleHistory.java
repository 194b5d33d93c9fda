package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.state.AppearanceConfig;
import dev.genv.enforcer.enforcement.history.state.StateHistory;
import dev.genv.enforcer.enforcement.history.time.VisibleTime;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.saved.SavedCycle;
import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.enforcement.saved.SavedState;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered from one cycle to the next about the state and its violations. A cycle records twice: its observation, and then
 * the plan that follows from it. The plan needs the first result, and every decision needs the second one, the {@link Evidence}.
 */
public final class CycleHistory {
    private static final SavedKind<Subject, VisibleTime.Visibility> VIOLATIONS =
            new SavedKind<>("reported", Subject.class, VisibleTime.Visibility.class);
    private static final SavedKind<ChangeHistory.Key, ChangeHistory.Saved> CHANGES =
            new SavedKind<>("change", ChangeHistory.Key.class, ChangeHistory.Saved.class);
    private static final SavedKind<StrangerHistory.Key, StrangerHistory.Saved> STRANGERS =
            new SavedKind<>("stranger", StrangerHistory.Key.class, StrangerHistory.Saved.class);

    private final StateHistory states;
    private final Evidence.Histories histories;
    /** The observation whose plan is not recorded yet. */
    private @Nullable SeenFleet open;

    /**
     * Creates an empty history.
     *
     * @param compliancePeriod how long a resolved violation is remembered
     */
    public CycleHistory(AppearanceConfig appearances, Duration compliancePeriod, Ticker counted) {
        states = new StateHistory(counted, appearances);
        histories = new Evidence.Histories(
                states,
                new ViolationHistory(compliancePeriod, counted),
                new ChangeHistory(states, counted),
                new StrangerHistory(counted));
    }

    /** The kinds of entries that are saved. */
    public static List<SavedKind<?, ?>> savedKinds() {
        return Stream.concat(StateHistory.savedKinds().stream(), Stream.of(VIOLATIONS, CHANGES, STRANGERS))
                .toList();
    }

    /** Returns what is remembered after a cycle, to continue in another run of the service. */
    public SavedState save() {
        return states.save()
                .with(VIOLATIONS, histories.violations().save())
                .with(CHANGES, histories.changes().save())
                .with(STRANGERS, histories.strangers().save());
    }

    /** When the last cycle recorded its observation, by the mark of the clock that counts towards an action. */
    public long recordedAt() {
        return states.recordedAt();
    }

    /** When each host was last observed, in clock ticks since its boot; -1 if it never was. */
    public Map<String, Long> ticks() {
        return states.ticks();
    }

    /** Continues from what an earlier run of the service saved; the clock that counts towards an action continues too. */
    public void restore(SavedState saved, SavedCycle last) {
        states.restore(saved, last);
        histories.violations().restore(saved.get(VIOLATIONS));
        histories.changes().restore(saved.get(CHANGES));
        histories.strangers().restore(saved.get(STRANGERS));
    }

    /** Returns a saved state in which all reported times begin at the end of its last cycle, so that grace periods begin again. */
    public static SavedState withNewGraces(SavedState saved, SavedCycle last) {
        var mark = last.counted();
        return saved.with(VIOLATIONS, map(saved.get(VIOLATIONS), visibility -> visibility.begunAt(mark)))
                .with(
                        CHANGES,
                        map(
                                saved.get(CHANGES),
                                change -> new ChangeHistory.Saved(
                                        change.reported().begunAt(mark), change.possible())))
                .with(STRANGERS, map(saved.get(STRANGERS), stranger -> stranger.begunAt(mark)));
    }

    private static <K, V> Map<K, V> map(Map<K, V> entries, UnaryOperator<V> operator) {
        var mapped = new HashMap<>(entries);
        mapped.replaceAll((_, value) -> operator.apply(value));
        return mapped;
    }

    /** Records the state that a cycle observed. */
    public SeenFleet record(SeenFleet.Observed observed) {
        states.record(observed.hosts());
        var snapshots = observed.hosts().stream().map(HostReport::snapshot).toList();
        var fleet = new Fleet(snapshots, observed.remote(), states.appearances());
        var seen = new SeenFleet(observed, fleet);
        open = seen;
        return seen;
    }

    /**
     * Records the plan that follows from the last observation.
     *
     * @throws IllegalStateException if that was recorded already: time would count twice
     */
    public Evidence record(SeenFleet seen, Plan plan) {
        if (!seen.equals(open)) {
            throw new IllegalStateException("the plan of this observation was recorded already");
        }
        open = null;
        histories.violations().record(plan.violations());
        var changes = histories.changes().record(plan);
        histories.strangers().record(seen.hosts(), plan);
        return new Evidence(seen, plan, changes, histories);
    }

    /** Records that the service detached a device; also called by a worker whose result is no longer awaited. */
    public void recordDetachment(Action.Detach detachment) {
        states.detached(detachment);
    }
}
