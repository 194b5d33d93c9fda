package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.policy.Words;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Knows how long a violation has lasted and what changed in the state before it, and so whether it is time to act. */
final class Grace {
    /** A violation that was away for so long has all its time again. */
    private static final Duration FORGOTTEN = Duration.ofHours(1);

    /** How long an attachment is new at least. */
    private static final Duration SHORTEST_NEWNESS = Duration.ofHours(1);

    /** Of what is not found any more, no more than that is remembered. */
    private static final int MOST_REMEMBERED = 10_000;

    private final Restraint restraint;
    private final Ticker ticker;
    private final Testimony testimony;
    private final VisibleTime<Subject> lasting;
    private final VisibleTime<Resting> shown;

    /** What may rest on a change that was not observed. */
    private final Map<Resting, Change> possible = new HashMap<>();

    /** What breaks rules: whoever breaks now this one and now that one has still broken rules all the time. */
    private record Subject(@Nullable String host, String name) {
        static Subject of(Violation.Key key) {
            return new Subject(key.host(), BoundedText.of(key.subject()));
        }
    }

    /** What rests on a change of the state, as far as one environment is concerned. */
    private record Resting(Subject subject, String environment) {}

    /**
     * One without any history.
     *
     * @param interval from one cycle to the next
     */
    Grace(Restraint restraint, Duration interval, Ticker ticker) {
        this.restraint = restraint;
        this.ticker = ticker;
        testimony = new Testimony(ticker, newFor(restraint.detachedGrace(), interval));
        lasting = new VisibleTime<>(ticker);
        shown = new VisibleTime<>(ticker);
    }

    /** Takes in what a cycle sees; what is known of the attachments besides comes back. */
    Appearances see(List<HostReport> hosts) {
        testimony.hear(hosts);
        return testimony.appearances(restraint.detachedGrace().isZero());
    }

    /**
     * Takes in what is wrong.
     *
     * @return what changed in the state without us, for each violation that there would not be otherwise
     */
    Map<Violation.Key, Change> begin(Plan plan) {
        lasting.record(plan.violations().stream()
                .map(violation -> Subject.of(violation.key()))
                .collect(Collectors.toSet()));
        var changes = new HashMap<Violation.Key, Change>();
        var resting = new HashSet<Resting>();
        for (var planned : plan.actions()) {
            for (var cause : planned.causes()) {
                var its = resting(cause, planned.action());
                if (testimony.mayHideAChange(cause, planned.action())) {
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
        shown.forget(FORGOTTEN, MOST_REMEMBERED);
        possible.keySet().removeIf(its -> !shown.isRemembered(its));
        return changes;
    }

    /**
     * Forgets how long violations lasted that are over. Not at once: a process that breaks a rule only in every second
     * observation would begin its grace period anew each time.
     *
     * @param active those that go on, as far as is known
     */
    void forgetAllBut(Set<Violation.Key> active) {
        lasting.forget(
                restraint.compliancePeriod(),
                MOST_REMEMBERED,
                active.stream().map(Subject::of).collect(Collectors.toSet()));
    }

    void detached(Action.Detach ours) {
        testimony.detached(ours);
    }

    /** Why this process is not to be ended for what stands in the state; nothing where it may be. */
    Optional<String> captured(Action action) {
        return testimony.captured(action);
    }

    /** Why this process is not to be ended as a stranger in the environment that it names; nothing where it may be. */
    Optional<String> belongs(Action action) {
        return testimony
                .captured(action)
                .or(() -> testimony.wasOfItsUser(action)
                        ? Optional.of("a process of its user was in environment %s before"
                                .formatted(Words.safe(action.environmentId())))
                        : Optional.empty());
    }

    /** Why this is not yet done for that; nothing where it is time. */
    Optional<String> reasonToWait(Violation cause, Action action) {
        if (lasting.of(Subject.of(cause.key())).compareTo(restraint.gracePeriod()) < 0) {
            return Optional.of("it has not yet lasted %s".formatted(text(restraint.gracePeriod())));
        }
        var change = changeBehind(cause, action);
        if (change != null && isShort(shown.of(resting(cause, action)))) {
            return Optional.of("somebody changed the state, and that must be seen for %s: before, %s; now, %s"
                    .formatted(text(restraint.detachedGrace()), change.before(), change.after()));
        }
        return testimony
                .observedFor(cause, action)
                .filter(this::isShort)
                .map(_ -> "the service has observed the state for less than %s: it cannot know what was changed before"
                        .formatted(text(restraint.detachedGrace())));
    }

    private @Nullable Change changeBehind(Violation cause, Action action) {
        var observed = testimony.behind(cause, action);
        return observed == null ? possible.get(resting(cause, action)) : observed;
    }

    private Change unobserved() {
        return new Change(
                "not known, because the state was changed between the start of a process and its first observation",
                "the rule is broken",
                ticker.now());
    }

    /** An hour, and more where the grace would outlast that: an attachment that is not new any more has none left. */
    private static Duration newFor(Duration detachedGrace, Duration interval) {
        var graceAndSomeCycles = detachedGrace.plus(interval.multipliedBy(3));
        return graceAndSomeCycles.compareTo(SHORTEST_NEWNESS) > 0 ? graceAndSomeCycles : SHORTEST_NEWNESS;
    }

    private boolean isShort(Duration duration) {
        return duration.compareTo(restraint.detachedGrace()) < 0;
    }

    private static Resting resting(Violation cause, Action action) {
        return new Resting(Subject.of(cause.key()), BoundedText.of(action.environmentId()));
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }
}
