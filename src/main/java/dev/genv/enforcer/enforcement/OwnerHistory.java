package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.policy.Words;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Who owned one environment, as the state said, and in whose quota it counted. */
final class OwnerHistory {
    private final Ticker ticker;
    private @Nullable Owner first;
    private @Nullable Owner latest;
    private @Nullable Instant changedSince;
    private @Nullable Counted firstCounted;
    private @Nullable Counted counted;

    /** What distinguishes one owner from another, and how the owner is reported. */
    private record Owner(String key, String label) {
        static Owner of(Environment environment) {
            var name = environment.username();
            return new Owner(
                    BoundedText.of("%s %s".formatted(environment.uid(), name)),
                    "user %s of uid %s".formatted(name == null ? "N/A" : Words.safe(name), environment.uid()));
        }
    }

    /**
     * The user in whose quota it counts.
     *
     * @param since from when on; null if it did in the first observation
     */
    private record Counted(String user, ObservedTime.@Nullable Moment since) {}

    OwnerHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    /**
     * Takes in what the state says now.
     *
     * @param first whether the state could not be read before: since when that is so, is not known
     */
    void record(Environment environment, boolean first, ObservedTime.Moment now) {
        latest = Owner.of(environment);
        if (this.first == null || this.first.key.equals(latest.key)) {
            this.first = latest;
            changedSince = null;
        } else if (changedSince == null) {
            changedSince = ticker.now();
        }
        recordQuota(environment, first ? null : now, now);
    }

    /** A dispute that comes and goes changes nothing; one that ends for the first time makes it count as from then on. */
    private void recordQuota(Environment environment, ObservedTime.@Nullable Moment first, ObservedTime.Moment now) {
        if (environment.ownership().isDisputed() || environment.user().isEmpty()) {
            return;
        }
        var user = BoundedText.of(environment.user().orElseThrow());
        if (firstCounted == null) {
            firstCounted = new Counted(user, first);
        }
        if (firstCounted.user.equals(user)) {
            counted = firstCounted;
        } else if (counted == null || !counted.user.equals(user)) {
            counted = new Counted(user, now);
        }
    }

    /** That it was another user's. */
    @Nullable
    Change change() {
        return changedSince == null || first == null || latest == null
                ? null
                : new Change(first.label, latest.label, changedSince);
    }

    /** In whose quota it last counted, by {@link BoundedText}; null where it never did. */
    @Nullable
    String user() {
        return counted == null ? null : counted.user;
    }

    /** Since when; null if it did in the first observation. */
    ObservedTime.@Nullable Moment userSince() {
        return counted == null ? null : counted.since;
    }

    /** About how many bytes it takes. */
    long bytes() {
        return 1200;
    }
}
