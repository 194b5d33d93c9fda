package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.ObservedTime;
import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What began to count in the quotas of users after the first observation. It is built in every cycle, because quotas span hosts. */
final class QuotaHistory {
    private final Ticker ticker;
    private final Duration recentPeriod;
    private final Map<Appearances.Key, Appearances.Appearance> appearances = new HashMap<>();
    private final Map<String, Latest> latest = new HashMap<>();
    private final Map<String, Duration> observed = new HashMap<>();

    /** The last attachment that began to count for a user, and when, by the ticker's mark. */
    private record Latest(long at, StateChange change) {}

    /**
     * Creates an empty history.
     *
     * @param recentPeriod how long an attachment counts as new after it appeared; time during which it was not observed does not count
     */
    QuotaHistory(Ticker ticker, Duration recentPeriod) {
        this.ticker = ticker;
        this.recentPeriod = recentPeriod;
    }

    /** Adds the attachments that count on one host. */
    void add(Snapshot snapshot, HostHistory host) {
        var observedTime = host.attachmentsObserved();
        for (var device : snapshot.devices()) {
            for (var attachment : device.attachments()) {
                var environment = host.environment(attachment.eid());
                var user = environment == null ? null : environment.owner().user();
                if (environment != null && user != null && environment.deadSince() == null) {
                    observed.merge(user, observedTime.length(), (one, other) -> one.compareTo(other) < 0 ? one : other);
                    var appeared = appearedAt(environment, device.index());
                    if (appeared != null) {
                        var key = new Appearances.Key(snapshot.host(), attachment.eid(), device.index());
                        add(key, user, appeared.at(), observedTime.since(appeared));
                    }
                }
            }
        }
    }

    Map<Appearances.Key, Appearances.Appearance> appearances() {
        return appearances;
    }

    /** Returns the last change that increased a user's holdings; null if none is new. */
    @Nullable
    StateChange latestChange(@Nullable String user) {
        var its = user == null ? null : latest.get(BoundedText.of(user));
        return its == null ? null : its.change;
    }

    /** Returns how long the service has observed all hosts on which the user holds devices: the shortest time of them. */
    Optional<Duration> observedFor(@Nullable String user) {
        return Optional.ofNullable(user).map(BoundedText::of).map(observed::get);
    }

    private void add(Appearances.Key key, String user, long at, Duration age) {
        var recent = age.compareTo(recentPeriod) <= 0;
        appearances.put(key, new Appearances.Appearance(at, recent));
        if (recent) {
            var what = "environment %s with device %d on host %s"
                    .formatted(SafeText.escape(key.eid()), key.device(), SafeText.escape(key.host()));
            var change = new StateChange(
                    "the user's quota did not count " + what,
                    "it counts " + what,
                    ticker.now().minus(ticker.since(at)));
            latest.merge(user, new Latest(at, change), (one, other) -> one.at >= other.at ? one : other);
        }
    }

    /** Returns when an attachment began to count for its user; null if it did so in the first observation. */
    private static ObservedTime.@Nullable Moment appearedAt(EnvironmentHistory environment, int device) {
        var attached = environment.attachments().appearedAt(device);
        var owned = environment.owner().userSince();
        return attached == null || (owned != null && owned.at() > attached.at()) ? owned : attached;
    }
}
