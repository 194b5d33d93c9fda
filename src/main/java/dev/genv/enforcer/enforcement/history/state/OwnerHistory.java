package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.ObservedTime;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.SafeText;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The owners of one environment according to the state, and the users in whose quota it counted. */
public final class OwnerHistory {
    private final Ticker ticker;
    private @Nullable Owner first;
    private @Nullable Owner latest;
    private @Nullable Instant changedSince;
    private @Nullable Counted firstCounted;
    private @Nullable Counted counted;

    /** What distinguishes one owner from another, and how the owner is reported. */
    public record Owner(String key, String label) {
        static Owner of(Environment environment) {
            var name = environment.username();
            return new Owner(
                    BoundedText.of("%s %s".formatted(environment.uid(), name)),
                    "user %s of uid %s".formatted(name == null ? "N/A" : SafeText.escape(name), environment.uid()));
        }
    }

    /**
     * The user in whose quota the environment counts.
     *
     * @param since since when; null if it did so in the first observation
     */
    public record Counted(String user, ObservedTime.@Nullable Moment since) {}

    /** What is saved: the first and the present owner, and the users in whose quota it counted first and last. */
    public record Saved(
            @Nullable Owner first,
            @Nullable Owner latest,
            @Nullable Instant changedSince,
            @Nullable Counted firstCounted,
            @Nullable Counted counted) {}

    OwnerHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    Saved save() {
        return new Saved(first, latest, changedSince, firstCounted, counted);
    }

    void restore(Saved saved) {
        first = saved.first;
        latest = saved.latest;
        changedSince = saved.changedSince;
        firstCounted = saved.firstCounted;
        counted = saved.counted;
    }

    /**
     * Records the present state.
     *
     * @param first whether the state could not be read before, so that the time of the change is unknown
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

    /** A temporary dispute changes nothing. If a dispute ends for the first time, the environment counts from then on. */
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

    /** Returns the change of the owner; null if the owner is the same. */
    @Nullable
    StateChange change() {
        return changedSince == null || first == null || latest == null
                ? null
                : new StateChange(first.label, latest.label, changedSince);
    }

    /** The user in whose quota it last counted, by {@link BoundedText}; null if it never counted. */
    @Nullable
    String user() {
        return counted == null ? null : counted.user;
    }

    /** Since when; null if it did so in the first observation. */
    ObservedTime.@Nullable Moment userSince() {
        return counted == null ? null : counted.since;
    }

    /** Returns the approximate size in bytes. */
    long bytes() {
        return 1200;
    }
}
