package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Knows how long a violation has lasted and what changed in the state before it, and so whether it is time to act. */
final class Grace {
    private final Restraint restraint;
    private final Ticker ticker;
    private final Testimony testimony;
    private final Map<Violation.Key, Long> firstSeen = new HashMap<>();

    Grace(Restraint restraint, Ticker ticker) {
        this.restraint = restraint;
        this.ticker = ticker;
        this.testimony = new Testimony(ticker);
    }

    /** Takes in what a cycle sees. */
    void see(Fleet fleet) {
        testimony.forget(seen -> isOver(seen.mark(), restraint.detachedGrace()));
        testimony.hear(fleet);
    }

    /** Takes in what is wrong. */
    void begin(Plan plan) {
        var now = ticker.mark();
        plan.violations().forEach(violation -> firstSeen.putIfAbsent(violation.key(), now));
    }

    /** Only these violations go on. */
    void keepOnly(Set<Violation.Key> active) {
        firstSeen.keySet().retainAll(active);
    }

    /** When the oldest of the violations that want it began, by the mark. */
    long waitingSince(PlannedAction planned) {
        return planned.causes().stream()
                .mapToLong(cause -> firstSeen.getOrDefault(cause.key(), ticker.mark()))
                .min()
                .orElseGet(ticker::mark);
    }

    void detached(Action.Detach ours) {
        testimony.detached(ours);
    }

    /** Why this is not yet done for that; nothing where it is time. */
    Optional<String> reasonToWait(Violation cause, Action action) {
        var since = firstSeen.get(cause.key());
        if (since != null && !isOver(since, restraint.gracePeriod())) {
            return Optional.of("it has not yet lasted %s".formatted(text(restraint.gracePeriod())));
        }
        var behind = testimony.behind(cause, action);
        return behind != null && !isOver(behind.mark(), restraint.detachedGrace())
                ? Optional.of("somebody changed the state less than %s ago: before, %s; now, %s"
                        .formatted(
                                text(restraint.detachedGrace()),
                                behind.change().before(),
                                behind.change().after()))
                : Optional.empty();
    }

    /** What changed in the state without us, for each violation that there would not be otherwise. */
    Map<Violation.Key, Change> changes(Plan plan) {
        var changes = new HashMap<Violation.Key, Change>();
        for (var planned : plan.actions()) {
            for (var cause : planned.causes()) {
                var change = change(planned, cause);
                if (change != null) {
                    changes.put(cause.key(), change);
                }
            }
        }
        return changes;
    }

    private @Nullable Change change(PlannedAction planned, Violation cause) {
        var behind = testimony.behind(cause, planned.action());
        return behind == null ? null : behind.change();
    }

    private boolean isOver(long since, Duration patience) {
        return ticker.since(since).compareTo(patience) >= 0;
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }
}
