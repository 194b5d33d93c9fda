package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.saved.SavedCycle;
import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.enforcement.saved.SavedState;
import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What genv's state recorded in earlier observations, from the first one on. Every user can write the state, so another user may
 * have changed it a moment ago. Nothing proves that, but a comparison with earlier observations shows the change.
 */
public final class StateHistory {
    private static final SavedKind<SavedHost.Key, SavedHost> HOSTS =
            new SavedKind<>("host", SavedHost.Key.class, SavedHost.class);
    private static final SavedKind<SavedEnvironment.Key, SavedEnvironment> ENVIRONMENTS =
            new SavedKind<>("environment", SavedEnvironment.Key.class, SavedEnvironment.class);
    private static final SavedKind<UnobservedChanges.Use, UnobservedChanges.SavedUse> USES =
            new SavedKind<>("use", UnobservedChanges.Use.class, UnobservedChanges.SavedUse.class);

    private final Ticker ticker;
    private final AppearanceConfig config;
    private final Map<String, HostHistory> hosts = new HashMap<>();
    private final UnobservedChanges unobserved;
    private QuotaHistory quotas;
    private long recordedAt;

    public StateHistory(Ticker ticker, AppearanceConfig config) {
        this.ticker = ticker;
        this.config = config;
        unobserved = new UnobservedChanges(ticker);
        quotas = new QuotaHistory(ticker, config.recentPeriod());
    }

    /** The kinds of entries that are saved. */
    public static List<SavedKind<?, ?>> savedKinds() {
        return List.of(HOSTS, ENVIRONMENTS, USES);
    }

    /** Returns what is remembered after a cycle, to continue in another run of the service. */
    public synchronized SavedState save() {
        var savedHosts = new HashMap<SavedHost.Key, SavedHost>();
        var environments = new HashMap<SavedEnvironment.Key, SavedEnvironment>();
        hosts.forEach((name, host) -> {
            savedHosts.put(new SavedHost.Key(name), host.save(recordedAt));
            host.saveEnvironments()
                    .forEach((eid, environment) -> environments.put(new SavedEnvironment.Key(name, eid), environment));
        });
        return SavedState.EMPTY
                .with(HOSTS, savedHosts)
                .with(ENVIRONMENTS, environments)
                .with(USES, unobserved.save());
    }

    /** When the last cycle was recorded, by the ticker's mark. */
    public synchronized long recordedAt() {
        return recordedAt;
    }

    /** When each host was last observed, in clock ticks since its boot; -1 if it never was. */
    public synchronized Map<String, Long> ticks() {
        var ticks = new HashMap<String, Long>();
        hosts.forEach((name, host) -> ticks.put(name, host.lastTicks()));
        return ticks;
    }

    /** Continues from what an earlier run of the service saved. */
    public synchronized void restore(SavedState saved, SavedCycle last) {
        recordedAt = last.observed();
        var environments = new HashMap<String, Map<String, SavedEnvironment>>();
        saved.get(ENVIRONMENTS)
                .forEach((key, environment) -> environments
                        .computeIfAbsent(key.host(), _ -> new LinkedHashMap<>())
                        .put(key.eid(), environment));
        saved.get(HOSTS)
                .forEach((key, host) -> hosts.put(
                        key.host(),
                        HostHistory.restore(
                                host,
                                environments.getOrDefault(key.host(), Map.of()),
                                recordedAt,
                                last.ticks().getOrDefault(key.host(), -1L),
                                ticker)));
        unobserved.restore(saved.get(USES));
    }

    /** Records the present state. A part that cannot be read changes nothing. */
    public synchronized void record(List<HostReport> reports) {
        recordedAt = ticker.mark();
        unobserved.record(reports);
        quotas = new QuotaHistory(ticker, config.recentPeriod());
        for (var report : reports) {
            var host = hostHistory(report.host());
            if (host.isOtherMachine(report.machine())) {
                host = new HostHistory(ticker);
                hosts.put(report.host(), host);
            }
            host.record(report.snapshot(), report.ticks());
            host.recordMachine(report.machine());
            quotas.add(report.snapshot(), host);
        }
        hosts.values().removeIf(HostHistory::isExpired);
    }

    /** Returns the present attachments that appeared after the first observation, and whether recorded times decide the age of the
     * others. */
    public synchronized Appearances appearances() {
        return new Appearances(quotas.appearances(), config.trustsRecordedTimes());
    }

    /** Records that the service detached a device; also called by a worker whose result is no longer awaited. */
    public synchronized void detached(Action.Detach detachment) {
        hostHistory(detachment.host()).detached(detachment.environment().eid(), detachment.device());
    }

    /**
     * Returns the change without which this action would not follow from the violation: of those that happened, the first one in
     * the order in which the rule declares them.
     *
     * @return null if the violation rests on no change
     */
    public synchronized @Nullable StateChange changeBehind(Violation cause, Action action) {
        for (var kind : cause.rule().restsOn()) {
            var change = change(kind, cause, action);
            if (change != null) {
                return change;
            }
        }
        return null;
    }

    private @Nullable StateChange change(StateChangeKind kind, Violation cause, Action action) {
        var host = hostHistory(action.host());
        var process = processOf(action);
        if (kind == StateChangeKind.PID_REMOVED) {
            return process == null ? null : host.delisting(process);
        }
        var environment = host.environment(action.environmentId());
        if (environment == null) {
            return null;
        }
        return switch (kind) {
            case PID_REMOVED, OWNER_FORGED -> null;
            case ENVIRONMENT_ENDED -> environment.end();
            case ENVIRONMENT_ADDED -> environment.addedAfterStart(process);
            case ATTACHMENT_REMOVED -> environment.attachments().removal(cause.devices());
            case CAPACITY_REDUCED -> environment.capacity().reduction(cause);
            case OWNER_CHANGED -> environment.owner().change();
            case QUOTA_INCREASED -> quotas.latestChange(cause.user());
        };
    }

    /** Whether the state may have changed after the start of a process of the violation, before the service observed both. */
    public synchronized boolean mayHideChange(Violation cause, Action action) {
        return cause.rule().restsOn().stream().anyMatch(kind -> mayHideChange(kind, cause, action));
    }

    private boolean mayHideChange(StateChangeKind kind, Violation cause, Action action) {
        return switch (kind) {
            // A new environment and a new attachment always have a grace, and a stranger always has one.
            case ENVIRONMENT_ADDED, OWNER_CHANGED, QUOTA_INCREASED, OWNER_FORGED -> false;
            case PID_REMOVED, ENVIRONMENT_ENDED ->
                unobserved.mayAffect(action.host(), cause.processes(), cause.devices());
            // The memory may exceed the capacity long after the first observation.
            case CAPACITY_REDUCED -> unobserved.mayHaveAffected(action.host(), cause.processes(), cause.devices());
            case ATTACHMENT_REMOVED -> {
                var environment = hostHistory(action.host()).environment(action.environmentId());
                yield unobserved.mayAffect(
                        action.host(),
                        cause.processes(),
                        environment == null
                                ? cause.devices()
                                : environment.attachments().neverAttached(cause.devices()));
            }
        };
    }

    /** Returns how long the service has observed the state that a violation may rest on; empty if no unobserved change can be
     * its reason. */
    public synchronized Optional<Duration> observedFor(Violation cause, Action action) {
        return cause.rule().restsOn().stream()
                .flatMap(kind -> observedFor(kind, cause, action).stream())
                .min(Comparator.naturalOrder());
    }

    private Optional<Duration> observedFor(StateChangeKind kind, Violation cause, Action action) {
        return kind == StateChangeKind.QUOTA_INCREASED
                ? quotas.observedFor(cause.user())
                : hostHistory(action.host()).observedFor(kind, cause, processOf(action), action.environmentId());
    }

    /** Returns why a process cannot have been in the environment that it names, regardless of the present state. */
    public synchronized Optional<String> claimedByOthers(Action action) {
        var process = processOf(action);
        var environment = hostHistory(action.host()).environment(action.environmentId());
        return process == null || environment == null ? Optional.empty() : environment.claimedByOthers(process);
    }

    /** Whether a live pid of the environment that a process names ever had the real uid of the process. */
    public synchronized boolean hasHadUidOfProcess(Action action) {
        var process = processOf(action);
        var environment = hostHistory(action.host()).environment(action.environmentId());
        return process != null && environment != null && environment.hasHadUid(process.uid());
    }

    private HostHistory hostHistory(String host) {
        return hosts.computeIfAbsent(host, _ -> new HostHistory(ticker));
    }

    private static @Nullable GpuProcess processOf(Action action) {
        return action instanceof Action.Terminate(var _, var process, var _) ? process : null;
    }
}
