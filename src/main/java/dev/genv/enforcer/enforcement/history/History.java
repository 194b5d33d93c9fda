package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.history.Evidence.Enforcement;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Plan;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered from one cycle to the next about genv's state and its violations, by host. A reboot, or another machine with the name
 * of the host, ends what is remembered of it. A cycle records twice: its observation, and then the plan that follows from it. The plan needs
 * the first result, and every decision needs the second one, the {@link Evidence}.
 */
public final class History {
    public static final SavedKind<HostKey, HostHistory> HOSTS =
            new SavedKind<>("state", HostKey.class, HostHistory.class, HostKey::host);
    public static final SavedKind<Clocks.Key, Clocks.Clock> CLOCKS =
            new SavedKind<>("clock", Clocks.Key.class, Clocks.Clock.class, Clocks.Key::host);
    /** How long a host that left the list is remembered, and the shortest time for a violation that is over. */
    private static final Duration KEPT = Duration.ofHours(1);

    private static final int INTERVALS = 3;

    private final Enforcement enforcement;
    private final Ticker ticker;
    private final Clocks clocks;
    private final Map<String, HostHistory> hosts = new HashMap<>();
    /** When the environments of each host were last read, in clock ticks since its boot. */
    private final Map<String, Long> ticks = new HashMap<>();
    /** The observation whose plan is not recorded yet. */
    private @Nullable SeenFleet open;

    private long recordedAt;

    record HostKey(String host) {}

    /**
     * What is remembered of a host.
     *
     * @param machine the identity of the machine and of its boot; null if unknown
     * @param listings the pids that environments list or listed, by which the membership of other processes is decided
     * @param leftAt when it left the list, by the mark of the clock that counts towards an action; null while it is in the list
     */
    record HostHistory(
            @Nullable String machine,
            Claims claims,
            Listings listings,
            @Nullable Long leftAt) {
        static final HostHistory EMPTY = new HostHistory(null, Claims.EMPTY, Listings.NONE, null);
    }

    /** Creates an empty history with the interval of the cycles and the clock that counts towards an action. */
    public History(Enforcement enforcement, Duration interval, Ticker counted) {
        this.enforcement = enforcement;
        ticker = counted;
        var cycles = interval.multipliedBy(INTERVALS);
        clocks = new Clocks(cycles.compareTo(KEPT) > 0 ? cycles : KEPT);
    }

    /** Returns what is remembered after a cycle, to continue in another run of the service. */
    public SavedState save() {
        var byHost = new HashMap<HostKey, HostHistory>();
        hosts.forEach((name, host) -> byHost.put(new HostKey(name), host));
        return SavedState.EMPTY.with(HOSTS, byHost).with(CLOCKS, clocks.all());
    }

    /** When the last cycle recorded its observation, by the mark of the clock that counts towards an action. */
    public long recordedAt() {
        return recordedAt;
    }

    /** When the environments of each host were last read, in clock ticks since its boot. */
    public Map<String, Long> ticks() {
        return Map.copyOf(ticks);
    }

    /**
     * Continues from what an earlier run of the service saved; the clock that counts towards an action continues too. Its clocks
     * continue only if the time that violations were observed still counts.
     */
    public void restore(SavedState saved, SavedCycle last, boolean continuesClocks) {
        recordedAt = last.observed();
        saved.get(HOSTS).forEach((key, host) -> hosts.put(key.host, host));
        ticks.putAll(last.ticks());
        ticks.keySet().retainAll(hosts.keySet()); // without its claims a host begins anew
        if (continuesClocks) {
            clocks.restore(saved.get(CLOCKS));
            // A rule that is enforced anew acts on no time in which it only audited.
            clocks.forget(key -> !hosts.containsKey(key.host()) || !enforcement.enforces(key.rule()));
        }
    }

    /** Returns the pids that environments of a host list or listed. */
    public Listings listings(String host) {
        var known = hosts.get(host);
        return known == null ? Listings.NONE : known.listings;
    }

    /** Records the state that a cycle observed. */
    public SeenFleet record(SeenFleet.Observed observed) {
        recordedAt = ticker.mark();
        for (var report : observed.hosts()) {
            if (!report.isDuplicate()) {
                record(report);
            }
        }
        forgetHosts(observed.hosts().stream().map(HostReport::host).toList());
        var snapshots = observed.hosts().stream().map(HostReport::snapshot).toList();
        var seen = new SeenFleet(observed, new Fleet(snapshots, observed.remote(), appearances(snapshots)));
        open = seen;
        return seen;
    }

    /** Records that the state of a host was still the same when it was read at this time, in clock ticks since boot. */
    public void recordUnchanged(String host, long at) {
        ticks.computeIfPresent(host, (_, last) -> Math.max(last, at));
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
        var claims = new HashMap<String, Claims>();
        hosts.forEach((name, host) -> claims.put(name, host.claims));
        var evidence = new Evidence(seen, plan, enforcement, claims, clocks, recordedAt);
        clocks.record(evidence.inForce(), recordedAt);
        return evidence;
    }

    private void record(HostReport report) {
        var name = report.host();
        var snapshot = report.snapshot();
        var known = hosts.getOrDefault(name, HostHistory.EMPTY);
        if (isOther(report, known.machine)) {
            known = HostHistory.EMPTY;
            ticks.remove(name);
            clocks.forget(key -> key.host().equals(name));
        }
        var moment = new Claims.Moment(report.ticks(), recordedAt);
        hosts.put(
                name,
                new HostHistory(
                        report.machine() == null ? known.machine : report.machine(),
                        known.claims.next(snapshot, ticks.get(name), moment),
                        report.reached() ? report.listings() : known.listings,
                        null));
        if (snapshot.has(SnapshotPart.ENVIRONMENTS)) {
            ticks.put(name, report.ticks());
        }
    }

    /** Whether another machine has this name now, or the machine was rebooted: pids then belong to other processes. */
    private boolean isOther(HostReport report, @Nullable String machine) {
        var now = report.machine();
        var last = ticks.get(report.host());
        return (now != null && machine != null && !now.equals(machine))
                || (report.reached() && last != null && report.ticks() < last);
    }

    private void forgetHosts(Collection<String> listed) {
        hosts.replaceAll((name, host) -> host.leftAt != null || listed.contains(name)
                ? host
                : new HostHistory(host.machine, host.claims, host.listings, recordedAt));
        hosts.values()
                .removeIf(
                        host -> host.leftAt != null && ticker.since(host.leftAt).compareTo(KEPT) > 0);
        ticks.keySet().retainAll(hosts.keySet());
    }

    private Appearances appearances(List<Snapshot> snapshots) {
        var since = new HashMap<Appearances.Key, Long>();
        for (var snapshot : snapshots) {
            var claims = hosts.getOrDefault(snapshot.host(), HostHistory.EMPTY).claims;
            since.putAll(claims.appearances(snapshot));
        }
        return new Appearances(since, enforcement.grace().isZero());
    }
}
