package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness.HostDevice;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered from one cycle to the next about genv's state and its violations, by host. A reboot, or another machine with the name
 * of the host, ends what is remembered of it. A cycle records twice: its observation, and then the plan that follows from it. From then on
 * until the next observation it tells what is known for and against the actions of that plan.
 */
public final class History {
    public static final SavedKind<HostKey, HostHistory> HOSTS =
            new SavedKind<>("state", HostKey.class, HostHistory.class, HostKey::host);
    public static final SavedKind<Clocks.Key, Clocks.Clock> CLOCKS =
            new SavedKind<>("clock", Clocks.Key.class, Clocks.Clock.class, Clocks.Key::host);
    public static final SavedKind<Clocks.Key, Clocks.Clock> IDLE =
            new SavedKind<>("idle", Clocks.Key.class, Clocks.Clock.class, Clocks.Key::host);
    /** How long a host that left the list is remembered, and the shortest time for a violation that is over. */
    private static final Duration KEPT = Duration.ofHours(1);

    private static final int INTERVALS = 3;
    private static final long MILLIS_PER_TICK = 10;

    private final Enforcement enforcement;
    private final Ticker ticker;
    private final Clocks clocks;
    private final IdleTimes idle;
    private final Map<String, HostHistory> hosts = new HashMap<>();
    /** When the environments of each host were last read, in clock ticks since its boot. */
    private final Map<String, Long> ticks = new HashMap<>();
    /** The present observation of each host. */
    private Map<String, Snapshot> present = Map.of();
    /** The present environments of each host by their ids, as far as they were needed. */
    private final Map<String, Map<String, Environment>> environments = new HashMap<>();
    /** The devices that the present plan detaches for each violation. */
    private final Map<Violation.Key, Set<HostDevice>> detached = new HashMap<>();

    private long recordedAt;

    record HostKey(String host) {}

    /**
     * Why an action must wait.
     *
     * @param reason for people, as a clause
     * @param left how long after the observation the action must wait; empty if no time alone leads to it
     */
    public record Delay(String reason, Optional<Duration> left) {}

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
        idle = new IdleTimes(enforcement.idleUtilization());
    }

    /** Returns what is remembered after a cycle, to continue in another run of the service. */
    public SavedState save() {
        var byHost = new HashMap<HostKey, HostHistory>();
        hosts.forEach((name, host) -> byHost.put(new HostKey(name), host));
        return SavedState.EMPTY.with(HOSTS, byHost).with(CLOCKS, clocks.all()).with(IDLE, idle.clocks.all());
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
        idle.clocks.restore(saved.get(IDLE));
        idle.clocks.forget(key -> !hosts.containsKey(key.host()));
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

    /**
     * Records the state that a cycle observed.
     *
     * @param listings the pids that environments of a host that answered list or listed
     */
    public Fleet record(Fleet observed, Function<String, Listings> listings) {
        recordedAt = ticker.mark();
        present = observed.snapshots().stream().collect(Collectors.toMap(Snapshot::host, Function.identity()));
        environments.clear();
        detached.clear();
        for (var snapshot : observed.snapshots()) {
            if (!snapshot.isDuplicate()) {
                record(snapshot, listings);
            }
        }
        forgetHosts(present.keySet());
        var appearances = appearances(observed.snapshots());
        return observed.with(appearances).with(idle.record(observed.snapshots(), appearances, recordedAt));
    }

    /** Records that the state of a host was still the same when it was read at this time, in clock ticks since boot. */
    public void recordUnchanged(String host, long at) {
        ticks.computeIfPresent(host, (_, last) -> Math.max(last, at));
    }

    /** Records the plan that follows from the last observation, once. */
    public void record(Plan plan) {
        for (var planned : plan.actions()) {
            if (planned.action() instanceof Action.Detach(var host, var _, var device, var _)) {
                planned.causes()
                        .forEach(cause -> detached.computeIfAbsent(cause.key(), _ -> new HashSet<>())
                                .add(new HostDevice(host, device)));
            }
        }
        clocks.record(inForce(plan), recordedAt);
    }

    private void record(Snapshot snapshot, Function<String, Listings> listings) {
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
                        known.claims.next(snapshot, ticks.get(name), recordedAt),
                        details.reached() ? listings.apply(name) : known.listings,
                        null));
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

    /** Whether the service acts on this violation by this action, now or later. */
    public boolean isInForce(Violation cause, Action action) {
        return enforcement.enforces(cause.rule(), action)
                && !isImmune(action)
                && snapshot(action.host())
                        .map(snapshot -> snapshot.details().readOnlyReason())
                        .isEmpty()
                && shield(cause, action).isEmpty();
    }

    /** Returns why the action must not follow from the violation yet; empty if it may. */
    public Optional<Delay> delay(Violation cause, Action action) {
        if (enforcement.grace().isZero()) {
            return Optional.empty();
        }
        var shield = shield(cause, action);
        if (shield.isPresent()) {
            return shield.map(reason -> new Delay(reason, Optional.empty()));
        }
        var left = left(cause, action);
        return left.isPositive()
                ? Optional.of(new Delay("it has not yet lasted " + text(enforcement.grace()), Optional.of(left)))
                : Optional.empty();
    }

    /** Returns the clocks of all violations in force, each with the uid of its processes. */
    Map<Clocks.Key, @Nullable Long> inForce(Plan plan) {
        var keys = new HashMap<Clocks.Key, @Nullable Long>();
        for (var planned : plan.actions()) {
            var action = planned.action();
            for (var cause : planned.causes()) {
                if (isInForce(cause, action)) {
                    var uid = cause.rule().isOfFleet() ? null : uidOf(cause, action);
                    ofViolation(cause, action).forEach(key -> keys.put(key, uid));
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

    /** A user whose processes kept breaking a rule gets no new grace period for each young process. */
    private Duration left(Violation cause, Action action) {
        var left = ofViolation(cause, action)
                .map(this::left)
                .min(Duration::compareTo)
                .orElse(enforcement.grace());
        return ofUser(cause, action)
                .map(this::left)
                .filter(ofUser -> ageOf(action).plus(ofUser).compareTo(enforcement.grace()) < 0)
                .filter(ofUser -> ofUser.compareTo(left) < 0)
                .orElse(left);
    }

    private Duration left(Clocks.Key key) {
        var left = enforcement.grace().minus(clocks.elapsed(key, recordedAt));
        return left.isNegative() ? Duration.ZERO : left;
    }

    private Duration ageOf(Action action) {
        return action instanceof Action.Terminate(var host, var process, var _)
                ? Duration.ofMillis((snapshot(host).orElseThrow().details().ticks()
                                - process.id().startTime())
                        * MILLIS_PER_TICK)
                : enforcement.grace();
    }

    /**
     * Returns the clocks of the violation: one, or for a quota one for each device that would be detached. The environment is not part of
     * it, because its user could change it, and neither is a process that is terminated for memory, because another may be chosen.
     */
    private Stream<Clocks.Key> ofViolation(Violation cause, Action action) {
        var host = action.host();
        var rule = cause.rule().name();
        var subject = SafeText.bounded(cause.subject());
        if (!cause.rule().isOfFleet()) {
            return Stream.of(new Clocks.Key(host, rule, subject));
        }
        var devices = detached.getOrDefault(cause.key(), Set.of());
        var its = switch (action) {
            case Action.Detach(var _, var _, var device, var _) -> List.of(device);
            case Action.Terminate(var _, var process, var _) -> process.devices();
        };
        return its.stream()
                .filter(device -> devices.contains(new HostDevice(host, device)))
                .map(device -> new Clocks.Key(host, rule, "device %d of %s".formatted(device, subject)));
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

    /** Returns why what the state claims is not used against a process; empty if it is. */
    private Optional<String> shield(Violation cause, Action action) {
        if (!(action instanceof Action.Terminate(var host, var process, var _))
                || enforcement.grace().isZero()
                || !cause.rule().dependsOnState()) {
            return Optional.empty();
        }
        var claims = hosts.getOrDefault(host, HostHistory.EMPTY).claims;
        var environment = environmentOf(host, process).orElse(null);
        if (environment == null) {
            return Optional.empty();
        }
        var isStranger = isStranger(host, process, environment);
        if (!enforcement.enforcesWithoutEnvironment()
                && claims.shieldsFromEnvironment(process, environment, isStranger)) {
            return Optional.of("the process is older than the entry of environment %s"
                    .formatted(SafeText.escape(environment.eid())));
        }
        return cause.rule().isEnforcedByUids() && claims.shieldsFromOwner(process, environment, isStranger)
                ? Optional.of("the process is older than the entry that makes uid %d the owner of environment %s"
                        .formatted(environment.uid(), SafeText.escape(environment.eid())))
                : Optional.empty();
    }

    private boolean isStranger(String host, GpuProcess process, Environment environment) {
        var user = snapshot(host)
                .map(snapshot -> snapshot.userOf(process.uid(), environment))
                .orElse(null);
        return environment.isStranger(process.uid()) && environment.isStranger(user);
    }

    private Optional<Environment> environmentOf(String host, GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid)
                ? Optional.ofNullable(environments
                        .computeIfAbsent(
                                host,
                                name -> snapshot(name)
                                        .map(Snapshot::environmentsById)
                                        .orElse(Map.of()))
                        .get(eid))
                : Optional.empty();
    }

    private Optional<Snapshot> snapshot(String host) {
        return Optional.ofNullable(present.get(host));
    }

    private static boolean isImmune(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> process.immunity() != null;
            case Action.Detach(var _, var environment, var _, var _) ->
                environment.ownership().exempt();
        };
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }

    /**
     * What the settings enforce.
     *
     * @param rules whether the service acts on the violations of a rule
     * @param signals whether processes may be signalled at all
     * @param grace how long a violation must have been observed before the service acts on it; zero to act at once, as genv does
     * @param idleUtilization the highest utilization of a device that counts as idle, in percent
     */
    public record Enforcement(Predicate<RuleDefinition> rules, boolean signals, Duration grace, int idleUtilization) {
        public Enforcement(Predicate<RuleDefinition> rules, boolean signals, Duration grace) {
            this(rules, signals, grace, IdleLimits.DEFAULT.utilization());
        }

        boolean enforces(String rule) {
            return Rules.find(rule).filter(rules).isPresent();
        }

        boolean enforces(RuleDefinition rule, Action action) {
            return rules.test(rule) && (signals || action instanceof Action.Detach);
        }

        /** Whether processes are also terminated if their environment is not active. */
        boolean enforcesWithoutEnvironment() {
            return rules.test(Rules.INACTIVE_ENV_PROCESSES);
        }
    }
}
