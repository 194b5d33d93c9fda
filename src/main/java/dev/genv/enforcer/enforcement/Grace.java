package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Violation;
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

    private final Restraint restraint;
    private final Ticker ticker;
    private final Testimony testimony;
    private final Map<Subject, Long> firstSeen = new HashMap<>();
    private final Map<Resting, Shown> shown = new HashMap<>();

    /** What breaks rules: whoever breaks now this one and now that one has still broken rules all the time. */
    private record Subject(@Nullable String host, String name) {
        static Subject of(Violation.Key key) {
            return new Subject(key.host(), key.subject());
        }
    }

    /** What rests on a change of the state, as far as one environment is concerned. */
    private record Resting(Subject subject, String environment) {}

    /**
     * For how long people could see a violation that rests on a change. Only that counts, and all of it: nobody has the
     * time again who makes it come and go.
     *
     * @param at when a cycle last found it, or found it gone
     * @param goesOn whether the last one found it
     */
    private record Shown(Duration length, long at, boolean goesOn) {}

    Grace(Restraint restraint, Ticker ticker) {
        this.restraint = restraint;
        this.ticker = ticker;
        this.testimony = new Testimony(ticker);
    }

    /** Takes in what a cycle sees. */
    void see(List<HostReport> hosts) {
        testimony.hear(hosts);
    }

    /**
     * Takes in what is wrong.
     *
     * @return what changed in the state without us, for each violation that there would not be otherwise
     */
    Map<Violation.Key, Change> begin(Plan plan) {
        var now = ticker.mark();
        plan.violations().forEach(violation -> firstSeen.putIfAbsent(Subject.of(violation.key()), now));
        var changes = new HashMap<Violation.Key, Change>();
        var resting = new HashSet<Resting>();
        for (var planned : plan.actions()) {
            for (var cause : planned.causes()) {
                var change = testimony.behind(cause, planned.action());
                if (change != null) {
                    changes.put(cause.key(), change);
                    resting.add(resting(cause, planned.action()));
                }
            }
        }
        show(resting, now);
        return changes;
    }

    /** Only these violations go on. */
    void keepOnly(Set<Violation.Key> active) {
        firstSeen.keySet().retainAll(active.stream().map(Subject::of).collect(Collectors.toSet()));
    }

    void detached(Action.Detach ours) {
        testimony.detached(ours);
    }

    /** Why this process is not to be ended for what stands in the state; nothing where it may be. */
    Optional<String> captured(Action action) {
        return testimony.captured(action);
    }

    /** Why this is not yet done for that; nothing where it is time. */
    Optional<String> reasonToWait(Violation cause, Action action) {
        var since = firstSeen.get(Subject.of(cause.key()));
        if (since != null && ticker.since(since).compareTo(restraint.gracePeriod()) < 0) {
            return Optional.of("it has not yet lasted %s".formatted(text(restraint.gracePeriod())));
        }
        var change = testimony.behind(cause, action);
        if (change == null) {
            return Optional.empty();
        }
        var so = shown.get(resting(cause, action));
        var seenFor = so == null ? Duration.ZERO : so.length;
        return seenFor.compareTo(restraint.detachedGrace()) < 0
                ? Optional.of("somebody changed the state, and that must be seen for %s: before, %s; now, %s"
                        .formatted(text(restraint.detachedGrace()), change.before(), change.after()))
                : Optional.empty();
    }

    private void show(Set<Resting> resting, long now) {
        // Up to this cycle people could see what the one before found, also where it is over now.
        shown.replaceAll((each, so) -> so.goesOn || resting.contains(each)
                ? new Shown(so.goesOn ? so.length.plus(ticker.since(so.at)) : so.length, now, resting.contains(each))
                : so);
        resting.forEach(each -> shown.putIfAbsent(each, new Shown(Duration.ZERO, now, true)));
        shown.values().removeIf(so -> ticker.since(so.at).compareTo(FORGOTTEN) > 0);
    }

    private static Resting resting(Violation cause, Action action) {
        return new Resting(Subject.of(cause.key()), action.environmentId());
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }
}
