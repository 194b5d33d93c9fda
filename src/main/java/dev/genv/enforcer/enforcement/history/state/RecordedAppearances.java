package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.plan.Action;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/** When attachments appeared in a recorded past, as {@link StateHistory} knows it of the observed one. */
public final class RecordedAppearances {
    /** The clock ticks since boot are not recorded, so a reboot is not seen. */
    private static final long TICKS = 0;

    private final AppearanceConfig config;
    private final Map<String, HostHistory> hosts = new HashMap<>();
    private Instant now = Instant.EPOCH;
    private long nanos;
    private final Ticker ticker = new Ticker(() -> now, () -> nanos);

    public RecordedAppearances(AppearanceConfig config) {
        this.config = config;
    }

    /**
     * Lets time pass until the next cycle.
     *
     * @param observed the part of it that was observed
     */
    public void pass(Instant next, Duration observed) {
        now = next;
        nanos += observed.toNanos() + 1; // so that a later appearance is always later
    }

    /** Records the hosts of the present cycle; only cycles in which what users hold has changed are necessary. */
    public Appearances record(Collection<Snapshot> snapshots) {
        var quotas = new QuotaHistory(ticker, config.recentPeriod());
        for (var snapshot : snapshots) {
            var host = hosts.computeIfAbsent(snapshot.host(), _ -> new HostHistory(ticker));
            host.record(snapshot, TICKS);
            host.recordMachine(null);
            quotas.add(snapshot, host);
        }
        hosts.values().removeIf(HostHistory::isExpired);
        return new Appearances(quotas.appearances(), config.trustsRecordedTimes());
    }

    /** Records that a replay has detached a device. */
    public void detached(Action.Detach detachment) {
        var host = hosts.get(detachment.host());
        if (host != null) {
            host.detached(detachment.environment().eid(), detachment.device());
        }
    }
}
