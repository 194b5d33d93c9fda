package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Words;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What began to count in the quotas of users since the first observation; made anew in every cycle, for quotas span hosts. */
final class QuotaHistory {
    private final Ticker ticker;
    private final Duration newFor;
    private final Map<Appearances.Key, Appearances.Appearance> appearances = new HashMap<>();
    private final Map<String, Latest> latest = new HashMap<>();
    private final Map<String, Duration> observed = new HashMap<>();

    /** What came last to count for a user, and when, by the ticker's mark. */
    private record Latest(long at, Change change) {}

    /**
     * An empty one.
     *
     * @param newFor for how long an attachment is new after it appeared; time in which nobody could see it does not count
     */
    QuotaHistory(Ticker ticker, Duration newFor) {
        this.ticker = ticker;
        this.newFor = newFor;
    }

    /** Takes in what counts on one host now. */
    void add(Snapshot snapshot, HostTestimony host) {
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

    /** The last change that made more count for a user; null where none is new. */
    @Nullable
    Change latestChange(@Nullable String user) {
        var its = user == null ? null : latest.get(BoundedText.of(user));
        return its == null ? null : its.change;
    }

    /** For how long the service has observed all hosts on which the user holds devices; that is as long as the shortest. */
    Optional<Duration> observedFor(@Nullable String user) {
        return Optional.ofNullable(user).map(BoundedText::of).map(observed::get);
    }

    private void add(Appearances.Key key, String user, long at, Duration age) {
        var recent = age.compareTo(newFor) <= 0;
        appearances.put(key, new Appearances.Appearance(at, recent));
        if (recent) {
            var what = "environment %s with device %d on host %s"
                    .formatted(Words.safe(key.eid()), key.device(), Words.safe(key.host()));
            var change = new Change(
                    "the user's quota did not count " + what,
                    "it counts " + what,
                    ticker.now().minus(ticker.since(at)));
            latest.merge(user, new Latest(at, change), (one, other) -> one.at >= other.at ? one : other);
        }
    }

    /** When it came to count for its user; null if it did in the first observation. */
    private static ObservedTime.@Nullable Moment appearedAt(EnvironmentTestimony environment, int device) {
        var attached = environment.attachments().appearedAt(device);
        var owned = environment.owner().userSince();
        return attached == null || (owned != null && owned.at() > attached.at()) ? owned : attached;
    }
}
