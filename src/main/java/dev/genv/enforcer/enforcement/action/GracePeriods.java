package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.BoundedText;
import dev.genv.enforcer.enforcement.history.StateChange;
import dev.genv.enforcer.enforcement.history.StateHistory;
import dev.genv.enforcer.enforcement.history.VisibleTime;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Decides whether the grace period and the state-change grace of a violation have passed. */
public final class GracePeriods {
    /** A violation that was absent for this time gets its whole grace again. */
    private static final Duration RETENTION = Duration.ofHours(1);

    /** The shortest time for which an attachment counts as new. */
    private static final Duration MIN_RECENT_PERIOD = Duration.ofHours(1);

    /** The largest number of absent violations that are remembered. */
    private static final int MAX_REMEMBERED = 10_000;

    private final SafetyLimits safetyLimits;
    private final Ticker ticker;
    private final StateHistory history;
    private final VisibleTime<Subject> lasting;
    private final VisibleTime<ChangeSubject> shown;

    /** What may rest on a change that was not observed. */
    private final Map<ChangeSubject, StateChange> possible = new HashMap<>();

    /** What breaks rules. A process that breaks different rules in turn has broken rules all the time. */
    private record Subject(@Nullable String host, String name) {
        static Subject of(Violation.Key key) {
            return new Subject(key.host(), BoundedText.of(key.subject()));
        }
    }

    /** A subject whose violation rests on a change of the state of one environment. */
    private record ChangeSubject(Subject subject, String environment) {}

    /**
     * Creates one without history.
     *
     * @param interval from one cycle to the next
     */
    public GracePeriods(SafetyLimits safetyLimits, Duration interval, Ticker ticker) {
        this.safetyLimits = safetyLimits;
        this.ticker = ticker;
        history = new StateHistory(ticker, recentPeriod(safetyLimits.stateChangeGrace(), interval));
        lasting = new VisibleTime<>(ticker);
        shown = new VisibleTime<>(ticker);
    }

    /** Records what a cycle observed, and returns which attachments appeared after the first observation. */
    public Appearances recordState(List<HostReport> hosts) {
        history.record(hosts);
        return history.appearances(safetyLimits.stateChangeGrace().isZero());
    }

    /**
     * Records the violations of a cycle.
     *
     * @return for each violation that rests on a change of the state that the service did not make: the change
     */
    public Map<Violation.Key, StateChange> recordViolations(Plan plan) {
        lasting.record(plan.violations().stream()
                .map(violation -> Subject.of(violation.key()))
                .collect(Collectors.toSet()));
        var changes = new HashMap<Violation.Key, StateChange>();
        var resting = new HashSet<ChangeSubject>();
        for (var planned : plan.actions()) {
            for (var cause : planned.causes()) {
                var its = changeSubject(cause, planned.action());
                if (history.mayHideChange(cause, planned.action())) {
                    possible.computeIfAbsent(its, _ -> unobserved());
                }
                var change = changeBehind(cause, planned.action());
                if (change != null) {
                    changes.put(cause.key(), change);
                    resting.add(its);
                }
            }
        }
        shown.record(resting);
        shown.forget(RETENTION, MAX_REMEMBERED);
        possible.keySet().removeIf(its -> !shown.isRemembered(its));
        return changes;
    }

    /**
     * Forgets how long resolved violations lasted, but not at once: the grace period of a process that breaks a rule only in
     * every second observation would start again each time.
     *
     * @param active the violations that are active, as far as is known
     */
    public void retainViolations(Set<Violation.Key> active) {
        lasting.forget(
                safetyLimits.compliancePeriod(),
                MAX_REMEMBERED,
                active.stream().map(Subject::of).collect(Collectors.toSet()));
    }

    void detached(Action.Detach detachment) {
        history.detached(detachment);
    }

    /** Returns why the state is no reason to terminate this process; empty if it may be. */
    Optional<String> claimedByOthers(Action action) {
        return history.claimedByOthers(action);
    }

    /** Returns why this process is not terminated as a stranger in the environment that it names; empty if it may be. */
    Optional<String> belongs(Action action) {
        return history.claimedByOthers(action)
                .or(() -> history.hasHadUidOfProcess(action)
                        ? Optional.of("a process of the same user was in environment %s before"
                                .formatted(SafeText.escape(action.environmentId())))
                        : Optional.empty());
    }

    /** Returns why the action must still wait for this violation; empty if its grace has passed. */
    Optional<String> reasonToWait(Violation cause, Action action) {
        if (lasting.durationOf(Subject.of(cause.key())).compareTo(safetyLimits.gracePeriod()) < 0) {
            return Optional.of("it has not yet lasted %s".formatted(text(safetyLimits.gracePeriod())));
        }
        var change = changeBehind(cause, action);
        if (change != null && isShort(shown.durationOf(changeSubject(cause, action)))) {
            return Optional.of("the state was changed, and the change must be reported for %s: before, %s; now, %s"
                    .formatted(text(safetyLimits.stateChangeGrace()), change.before(), change.after()));
        }
        return history.observedFor(cause, action)
                .filter(this::isShort)
                .map(_ -> "the service has observed the state for less than %s: it cannot know what was changed before"
                        .formatted(text(safetyLimits.stateChangeGrace())));
    }

    private @Nullable StateChange changeBehind(Violation cause, Action action) {
        var observed = history.changeBehind(cause, action);
        return observed == null ? possible.get(changeSubject(cause, action)) : observed;
    }

    private StateChange unobserved() {
        return new StateChange(
                "not known, because the state was changed between the start of a process and its first observation",
                "the rule is broken",
                ticker.now());
    }

    /** An hour, or more if the grace is longer: an attachment that no longer counts as new gets no grace. */
    private static Duration recentPeriod(Duration stateChangeGrace, Duration interval) {
        var graceAndThreeCycles = stateChangeGrace.plus(interval.multipliedBy(3));
        return graceAndThreeCycles.compareTo(MIN_RECENT_PERIOD) > 0 ? graceAndThreeCycles : MIN_RECENT_PERIOD;
    }

    private boolean isShort(Duration duration) {
        return duration.compareTo(safetyLimits.stateChangeGrace()) < 0;
    }

    private static ChangeSubject changeSubject(Violation cause, Action action) {
        return new ChangeSubject(Subject.of(cause.key()), BoundedText.of(action.environmentId()));
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }
}
