package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.AccountReader.KnownAccounts;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered from one cycle to the next about genv's state and its violations, by host. A reboot, or another machine with the name
 * of the host, ends what is remembered of it. A cycle adds to it twice: its observation, and then the plan that follows from it. It
 * decides nothing: {@link Gate} does.
 */
public final class History {
    public static final SavedKind<HostKey, HostHistory> HOSTS =
            new SavedKind<>("state", HostKey.class, HostHistory.class, HostKey::host);
    /** They belong to no host, so that they outlive a reboot: the directory may be down after it. */
    public static final SavedKind<HostKey, KnownAccounts> ACCOUNTS =
            new SavedKind<>("accounts", HostKey.class, KnownAccounts.class, _ -> "");

    public static final SavedKind<Clocks.Key, Clocks.Clock> CLOCKS =
            new SavedKind<>("clock", Clocks.Key.class, Clocks.Clock.class, Clocks.Key::host);
    public static final SavedKind<IdleTimes.Key, Clocks.Clock> IDLE =
            new SavedKind<>("idle", IdleTimes.Key.class, Clocks.Clock.class, IdleTimes.Key::host);
    /** How long a host that is no longer configured is remembered, and the shortest time for a violation that is over. */
    private static final Duration KEPT = Duration.ofHours(1);

    private static final int INTERVALS = 3;
    private static final long MILLIS_PER_TICK = 10;

    private final Enforcement enforcement;
    private final Ticker ticker;
    private final Clocks<Clocks.Key> clocks;
    private final IdleTimes idle;
    private final Map<String, HostHistory> hosts = new HashMap<>();
    private final Map<HostKey, KnownAccounts> accounts = new HashMap<>();
    /** When the environments of each host were last read, in clock ticks since its boot. */
    private final Map<String, Long> ticks = new HashMap<>();
    /** The present observation of each host. */
    private Map<String, Snapshot> present = Map.of();
    /** When the present attachments were first observed. */
    private Appearances appearances = Appearances.NONE;
    /** The present environments of each host by their ids. */
    private Map<String, Map<String, Environment>> environments = Map.of();
    /** The devices that the present plan detaches for each violation. */
    private Map<Violation.Key, Set<HostDevice>> detached = Map.of();

    private long observedAt;

    record HostKey(String host) {}

    /**
     * What is remembered of a host.
     *
     * @param machine the identity of the machine and of its boot; null if unknown
     * @param leftAt since when it is no longer configured, by the mark of the clock that counts towards an action; null while it is
     */
    record HostHistory(
            @Nullable String machine,
            Claims claims,
            @Nullable Long leftAt) {
        static final HostHistory EMPTY = new HostHistory(null, Claims.EMPTY, null);
    }

    /** Creates an empty history with the interval of the cycles and the clock that counts towards an action. */
    public History(Enforcement enforcement, Duration interval, Ticker counted) {
        this.enforcement = enforcement;
        ticker = counted;
        var cycles = interval.multipliedBy(INTERVALS);
        clocks = new Clocks<>(cycles.compareTo(KEPT) > 0 ? cycles : KEPT);
        idle = new IdleTimes(enforcement.idleUtilization());
    }

    /**
     * Returns what is remembered after a cycle, to continue in another run of the service. The time of an audit is not part of it: a service that
     * begins to enforce begins anew.
     */
    public SavedState save() {
        var byHost = new HashMap<HostKey, HostHistory>();
        hosts.forEach((name, host) -> byHost.put(new HostKey(name), host));
        return SavedState.EMPTY
                .with(HOSTS, byHost)
                .with(ACCOUNTS, Map.copyOf(accounts))
                .with(CLOCKS, enforcement.audits() ? Map.of() : clocks.all())
                .with(IDLE, idle.clocks.all());
    }

    /** When the last cycle observed the hosts, by the mark of the clock that counts towards an action. */
    public long observedAt() {
        return observedAt;
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
        observedAt = last.observed();
        saved.get(HOSTS).forEach((key, host) -> hosts.put(key.host, host));
        ticks.putAll(last.ticks());
        ticks.keySet().retainAll(hosts.keySet()); // without its claims a host begins anew
        idle.clocks.restore(saved.get(IDLE));
        idle.clocks.forget(key -> !hosts.containsKey(key.host()));
        if (continuesClocks) {
            clocks.restore(saved.get(CLOCKS));
            // A rule that is enforced anew acts on no time in which it only audited.
            clocks.forget(key -> !hosts.containsKey(key.host()) || !enforcement.enforces(key.rule()));
        }
    }

    /** Continues with the accounts that earlier runs found, also those of an earlier boot. */
    public void restoreAccounts(SavedState saved) {
        accounts.putAll(saved.get(ACCOUNTS));
    }

    /** Returns what later observations of a host depend on. */
    public Remembered remembered(String host) {
        return new Remembered(accounts.getOrDefault(new HostKey(host), KnownAccounts.NONE));
    }

    /**
     * Remembers the state that a cycle observed.
     *
     * @param remembered what later observations of a host that answered depend on
     */
    public Fleet remember(Fleet observed, Function<String, Remembered> remembered) {
        observedAt = ticker.mark();
        present = observed.snapshots().stream().collect(Collectors.toMap(Snapshot::host, Function.identity()));
        environments =
                observed.snapshots().stream().collect(Collectors.toMap(Snapshot::host, Snapshot::environmentsById));
        for (var snapshot : observed.snapshots()) {
            if (!snapshot.isDuplicate()) {
                remember(snapshot, remembered);
            }
        }
        forgetHosts(present.keySet());
        appearances = appearances(observed.snapshots());
        return observed.with(appearances).with(idle.remember(observed.snapshots(), observedAt));
    }

    /**
     * Remembers the plan that follows from the last observation, once.
     *
     * @param isInForce whether a violation leads to an action when its time is over
     */
    public void remember(Plan plan, BiPredicate<Violation, Action> isInForce) {
        var byCause = new HashMap<Violation.Key, Set<HostDevice>>();
        for (var planned : plan.actions()) {
            planned.causes()
                    .forEach(cause -> byCause.computeIfAbsent(cause.key(), _ -> new HashSet<>())
                            .addAll(detachedBy(Stream.of(planned.action()))));
        }
        detached = byCause;
        clocks.run(inForce(plan, isInForce), observedAt);
    }

    /** Forgets for how long violations were observed of rules that the policy does not enforce: such a rule begins anew. */
    void forgetUnenforced() {
        clocks.forget(key -> !enforcement.enforces(key.rule()));
    }

    /** Returns the devices that the present plan detaches for a violation. */
    Set<HostDevice> detached(Violation cause) {
        return detached.getOrDefault(cause.key(), Set.of());
    }

    /** Returns the devices that actions detach. */
    static Set<HostDevice> detachedBy(Stream<Action> actions) {
        return actions.filter(Action.Detach.class::isInstance)
                .map(detach -> new HostDevice(detach.host(), ((Action.Detach) detach).device()))
                .collect(Collectors.toSet());
    }

    private void remember(Snapshot snapshot, Function<String, Remembered> remembered) {
        var name = snapshot.host();
        var details = snapshot.details();
        var known = hosts.getOrDefault(name, HostHistory.EMPTY);
        if (isOther(snapshot, known.machine)) {
            known = HostHistory.EMPTY;
            ticks.remove(name);
            clocks.forget(key -> key.host().equals(name));
            idle.clocks.forget(key -> key.host().equals(name));
        }
        hosts.put(
                name,
                new HostHistory(
                        details.machine() == null ? known.machine : details.machine(),
                        known.claims.next(snapshot, ticks.get(name), observedAt),
                        null));
        if (snapshot.isReached()) {
            accounts.put(new HostKey(name), remembered.apply(name).accounts());
        }
        if (snapshot.has(SnapshotPart.ENVIRONMENTS)) {
            ticks.put(name, details.ticks());
        }
    }

    /** Whether another machine has this name now, or the machine was rebooted: pids then belong to other processes. */
    private boolean isOther(Snapshot snapshot, @Nullable String machine) {
        var now = snapshot.details().machine();
        var last = ticks.get(snapshot.host());
        return (now != null && machine != null && !now.equals(machine))
                || (snapshot.isReached() && last != null && snapshot.details().ticks() < last);
    }

    private void forgetHosts(Collection<String> configured) {
        hosts.replaceAll((name, host) -> host.leftAt != null || configured.contains(name)
                ? host
                : new HostHistory(host.machine, host.claims, observedAt));
        hosts.values()
                .removeIf(
                        host -> host.leftAt != null && ticker.since(host.leftAt).compareTo(KEPT) > 0);
        ticks.keySet().retainAll(hosts.keySet());
        accounts.keySet().removeIf(key -> !hosts.containsKey(key.host));
    }

    private Appearances appearances(List<Snapshot> snapshots) {
        var since = new HashMap<Appearances.Key, Long>();
        for (var snapshot : snapshots) {
            since.putAll(claims(snapshot.host()).appearances(snapshot));
        }
        return new Appearances(since, enforcement.grace().isZero());
    }

    /** Returns the clocks of all violations in force, each with the uid of its processes. */
    private Map<Clocks.Key, @Nullable Long> inForce(Plan plan, BiPredicate<Violation, Action> isInForce) {
        var keys = new HashMap<Clocks.Key, @Nullable Long>();
        for (var planned : plan.actions()) {
            var action = planned.action();
            for (var cause : planned.causes()) {
                if (isInForce.test(cause, action)) {
                    var uid = uidOf(cause, action);
                    ofViolation(cause, action, detached(cause)).forEach(key -> keys.put(key, uid));
                    ofUser(cause, action).ifPresent(key -> keys.put(key, uid));
                }
            }
        }
        return keys;
    }

    /** Returns the uid of the processes, or without processes that of the environment that is detached. */
    private static @Nullable Long uidOf(Violation cause, Action action) {
        return cause.processes().isEmpty()
                ? action.uid()
                : cause.processes().getFirst().uid();
    }

    /**
     * Returns how long a violation must still be observed before this action may follow. A user whose processes kept breaking a rule gets no
     * new grace period for each young process.
     *
     * @param detached the devices that are detached for the violation
     */
    Duration left(Violation cause, Action action, Set<HostDevice> detached) {
        var left = ofViolation(cause, action, detached)
                .map(this::left)
                .min(Duration::compareTo)
                .orElse(enforcement.grace());
        return ofUser(cause, action)
                .map(this::left)
                .filter(ofUser -> ageOf(action).plus(ofUser).compareTo(enforcement.grace()) < 0)
                .orElse(left);
    }

    /** Returns for how long a violation was observed, at most the age of a process that is terminated for it. */
    Duration lasted(Violation cause, Action action) {
        var age = ageOf(action);
        return ofViolation(cause, action, detached(cause))
                .map(key -> clocks.elapsed(key, observedAt))
                .max(Duration::compareTo)
                .filter(lasted -> lasted.compareTo(age) < 0)
                .orElse(age);
    }

    private Duration left(Clocks.Key key) {
        var left = enforcement.grace().minus(clocks.elapsed(key, observedAt));
        return left.isNegative() ? Duration.ZERO : left;
    }

    /** Returns the age of a process that is terminated. One whose host is not observed is not young, and neither is an environment. */
    private Duration ageOf(Action action) {
        return action instanceof Action.Terminate(var host, var process, var _)
                ? snapshot(host)
                        .map(observed -> Duration.ofMillis(
                                (observed.details().ticks() - process.id().startTime()) * MILLIS_PER_TICK))
                        .orElse(enforcement.grace())
                : enforcement.grace();
    }

    /**
     * Returns the clocks of the violation: one, or for a quota those of the attachments that the action concerns. The environment is not
     * part of one clock, because its user could change it, and neither is a process that is terminated for memory, because another may be
     * chosen.
     */
    private Stream<Clocks.Key> ofViolation(Violation cause, Action action, Set<HostDevice> detached) {
        if (!cause.rule().isOfFleet()) {
            return Stream.of(new Clocks.Key(action.host(), cause.rule().name(), SafeText.bounded(cause.subject())));
        }
        return switch (action) {
            case Action.Detach(var host, var environment, var device, var _) ->
                ofAttachment(cause, host, environment, device);
            case Action.Terminate(var host, var process, var _) ->
                environmentOf(host, process).stream()
                        .flatMap(environment -> process.devices().stream()
                                .filter(device -> detached.contains(new HostDevice(host, device)))
                                .flatMap(device -> ofAttachment(cause, host, environment, device)));
        };
    }

    /**
     * Returns the clock of this attachment since the service first observed it, and that of the owner's own processes on the device. The
     * recorded time does not matter, because every user can write it. So another user's entry on the device makes the owner's later
     * attachment no older, and an owner who changes the attachment under a running job gains no time.
     */
    private Stream<Clocks.Key> ofAttachment(Violation cause, String host, Environment environment, int device) {
        var rule = cause.rule().name();
        var subject = SafeText.bounded(cause.subject());
        var eid = SafeText.bounded(environment.eid());
        var since = appearances.of(host, environment.eid(), device);
        var attachment =
                new Clocks.Key(host, rule, "device %d of %s in %s since %d".formatted(device, subject, eid, since));
        var isUsed = snapshot(host)
                .filter(snapshot -> snapshot.isUsedByOwner(environment, device))
                .isPresent();
        return isUsed
                ? Stream.of(
                        attachment,
                        new Clocks.Key(
                                host,
                                rule,
                                "device %d used by uid %d of %s".formatted(device, environment.uid(), subject)))
                : Stream.of(attachment);
    }

    /** Returns the clock of the user of a process in its environment, if the state claims that; no other ids, because users choose them. */
    private Optional<Clocks.Key> ofUser(Violation cause, Action action) {
        if (!(action instanceof Action.Terminate(var host, var process, var _)) || !cause.isOf(process)) {
            return Optional.empty();
        }
        var uid = process.uid();
        if (uid == null || uid == 0) {
            return Optional.empty();
        }
        var environment = environmentOf(host, process)
                .map(its -> "environment " + SafeText.bounded(its.eid()))
                .orElse("no environment");
        return Optional.of(new Clocks.Key(host, cause.rule().name(), "uid %d in %s".formatted(uid, environment)));
    }

    /** Whether a host is configured, or was not long ago and may return. */
    boolean isRemembered(String host) {
        return hosts.containsKey(host);
    }

    /** Returns what the state of a host claims, and since when. */
    Claims claims(String host) {
        return hosts.getOrDefault(host, HostHistory.EMPTY).claims;
    }

    /** Returns the active environment that a process names. */
    Optional<Environment> environmentOf(String host, GpuProcess process) {
        return process.environment(environments.getOrDefault(host, Map.of()));
    }

    /** Returns the present observation of a host. */
    Optional<Snapshot> snapshot(String host) {
        return Optional.ofNullable(present.get(host));
    }
}
