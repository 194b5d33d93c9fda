package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.Gate;
import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.History;
import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostUsers;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.recording.PictureReader.Recorded;
import dev.genv.enforcer.recording.ReplayedUser.ReplayedAction;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Applies a policy to the recorded past, as the service would have done from an instant on: with its claims, and with its grace period. A
 * process is terminated once and an attachment detached once: from then on it is left out of the past. The termination limit and the mode of
 * the service do not apply.
 *
 * <p>Pictures are recorded only when something changes, so rules are also checked when a waiting action becomes due between two of them. The
 * rules about one host are checked for the hosts that changed, and those about the fleet only when what users hold has changed.
 */
public final class Replay {
    /** The largest number of users with a result of their own: users can write any name. */
    static final int MAX_USERS = 1_000;
    /** The largest number of listed actions of all users together. */
    static final int MAX_LISTED = 2_000;

    private final Config config;
    private final Policy ofHosts;
    private final Policy ofFleet;
    private final boolean checksHosts;
    private final boolean checksFleet;
    private final boolean checksIdle;
    /** Whether a rule about the fleet depends on what processes use, not on attachments alone. */
    private final boolean checksMemory;

    /** The present moment of the replay, and its mark in milliseconds. */
    private Instant at = Instant.EPOCH;

    private long mark;
    private final Ticker ticker =
            new Ticker(() -> this.at, () -> Duration.ofMillis(this.mark).toNanos());
    private final Map<String, ReplayedHost> hosts = new TreeMap<>();
    private final History fleet;
    private final Map<String, ReplayedUser.Counter> users = new HashMap<>();

    private boolean isBegun;
    /** When the rules about the fleet are to be checked. */
    private long due = ReplayedHost.NEVER;
    /** Whether they found something that waits, or that any change may decide. */
    private boolean isOpen;

    private boolean isUndecided;

    private int listed;
    private long instants;
    private @Nullable Instant from;

    /**
     * What is replayed.
     *
     * @param since when the policy begins to apply. Earlier pictures show how old claims are
     * @param remote whether messages name the host
     */
    public record Config(Policy policy, Duration grace, Duration interval, Instant since, boolean remote) {}

    public Replay(Config config) {
        this.config = config;
        ofHosts = with(false);
        ofFleet = with(true);
        var all = Rules.definitions().toArray(RuleDefinition[]::new);
        checksHosts = ofHosts.checksAnyOf(all);
        checksFleet = ofFleet.checksAnyOf(all);
        checksIdle = ofHosts.checksAnyOf(Rules.IDLE_DEVICES);
        checksMemory = ofFleet.checksAnyOf(Rules.MAX_MEMORY_PER_USER);
        fleet = history();
    }

    private Policy with(boolean spansHosts) {
        return new Policy(
                Rules.definitions().stream()
                        .filter(rule -> rule.hasLimit() == spansHosts)
                        .collect(Collectors.toMap(Function.identity(), config.policy::configOf)),
                config.policy.idle());
    }

    private History history() {
        return new History(enforcement(), config.interval, ticker);
    }

    private Enforcement enforcement() {
        return new Enforcement(
                ServiceMode.ENFORCE,
                rule -> config.policy.modeOf(rule) == RuleMode.ENFORCE,
                true,
                config.grace,
                config.policy.idle().utilization());
    }

    /** Adds the next picture. */
    public void add(Recorded recorded) {
        if (!recorded.at().equals(at) || recorded.mark() > mark) {
            advance(recorded.at(), recorded.mark());
        }
        var host = hosts.computeIfAbsent(recorded.host(), _ -> new ReplayedHost(history()));
        host.repeatLast(host.history, mark, config.interval);
        host.repeatLast(fleet, mark, config.interval);
        if (host.show(recorded.picture(), mark) || (checksMemory && host.due == mark)) {
            due = mark;
        }
    }

    /** Ends the replay at an instant. */
    public void finish(Instant end, long endMark) {
        advance(end, endMark);
        check();
    }

    /** Checks what was added, and what becomes due until the next cycle. */
    private void advance(Instant next, long nextMark) {
        check();
        var last = Math.max(mark, nextMark); // the clock may have been set
        if (!isBegun && !next.isBefore(config.since)) {
            isBegun = true;
            if (!hosts.isEmpty()) {
                var passed = Math.max(0, Duration.between(at, config.since).toMillis());
                at = config.since.isBefore(at) ? at : config.since;
                mark = Math.min(last, mark + passed);
                hosts.values().forEach(host -> host.due = mark);
                due = mark;
                check();
            }
        }
        for (var earliest = earliest(); isBegun && earliest < last; earliest = earliest()) {
            at = at.plusMillis(earliest - mark);
            mark = earliest;
            check();
        }
        at = next;
        mark = last;
    }

    private long earliest() {
        var earliest = due;
        for (var host : hosts.values()) {
            earliest = Math.min(earliest, host.due);
        }
        return earliest;
    }

    private void check() {
        var changed = hosts.values().stream().filter(host -> host.due <= mark).toList();
        if (changed.isEmpty() && due > mark) {
            return;
        }
        if (isBegun) {
            from = Objects.requireNonNullElse(from, at);
            instants++;
        }
        changed.forEach(host -> host.due = ReplayedHost.NEVER);
        if (checksHosts) {
            changed.forEach(host -> host.due = Math.min(
                    host.due, check(host.history, host.observed(mark).stream().toList(), ofHosts)));
        }
        if (isOpen || due <= mark) {
            checkFleet();
        }
    }

    private void checkFleet() {
        due = ReplayedHost.NEVER;
        if (checksFleet) {
            var snapshots = hosts.values().stream()
                    .flatMap(host -> host.observed(mark).stream())
                    .toList();
            due = Math.min(due, check(fleet, snapshots, ofFleet));
            isOpen = due != ReplayedHost.NEVER || isUndecided;
        }
    }

    /** Checks rules, applies the actions for which nothing has to be waited, and returns when the next one becomes due. */
    private long check(History history, List<Snapshot> snapshots, Policy policy) {
        var seen = history.record(new Fleet(snapshots, config.remote, at), _ -> Remembered.NOTHING);
        var gate = new Gate(enforcement(), history, 0, ticker);
        var plan = isBegun ? policy.check(seen, ExpectedExits.NONE, gate::isDue) : Plan.EMPTY;
        history.record(plan, gate::isInForce);
        var next = ReplayedHost.NEVER;
        for (var planned : plan.actions()) {
            var verdict = gate.judge(planned);
            if (verdict instanceof Gate.Verdict.Wait wait) {
                next = Math.min(next, after(wait.left()));
            } else if (verdict instanceof Gate.Verdict.Now && apply(planned)) {
                next = Math.min(next, after(Duration.ZERO));
            }
        }
        for (var idle : seen.idleness().attachments().values()) {
            var left = config.policy.idle().after().minus(idle);
            if (left.isPositive() && checksIdle) {
                next = Math.min(next, after(left));
            }
        }
        isUndecided =
                plan.problems().stream().anyMatch(problem -> problem.problem().code() == ProblemCode.QUOTA_UNDECIDED);
        return next;
    }

    /** Returns the mark of the first cycle after a time. */
    private long after(Duration time) {
        var interval = Math.max(1, config.interval.toMillis());
        return mark + Math.max(1, Math.ceilDiv(time.toMillis(), interval)) * interval;
    }

    /** Applies an action. Other rules may ask for more in the next cycle. */
    private boolean apply(PlannedAction planned) {
        var host = hosts.get(planned.action().host());
        if (host == null || !host.apply(planned.action())) {
            return false;
        }
        host.due = Math.min(host.due, after(Duration.ZERO));
        if (planned.action() instanceof Action.Detach || checksMemory) {
            due = Math.min(due, after(Duration.ZERO));
        }
        var user = userOf(planned, new HostUsers(host.snapshot().orElseThrow()));
        var key = users.containsKey(user) || users.size() < MAX_USERS ? user : HostUsers.UNKNOWN;
        if (users.computeIfAbsent(key, _ -> new ReplayedUser.Counter())
                .add(ReplayedAction.of(at, planned), listed < MAX_LISTED)) {
            listed++;
        }
        return true;
    }

    /** A stranger in an environment is not the environment's user. */
    private static String userOf(PlannedAction planned, HostUsers users) {
        return switch (planned.action()) {
            case Action.Terminate(var _, var process, var _) ->
                planned.rules().stream().anyMatch(RuleDefinition::isEnforcedByUids)
                        ? users.ofOwner(process.ownerOrUid())
                        : users.of(process);
            case Action.Detach(var _, var environment, var _, var _) -> users.of(environment);
        };
    }

    /** When the policy began to apply; null if nothing is recorded of the period. */
    public @Nullable Instant from() {
        return from;
    }

    /** Until when the past is replayed; null if nothing is recorded of the period. */
    public @Nullable Instant to() {
        return from == null ? null : at;
    }

    /** The number of instants at which rules were checked. */
    public long instants() {
        return instants;
    }

    /** Returns the users to whom the policy would have done something, those with the most actions first. */
    public List<ReplayedUser> users() {
        return users.entrySet().stream()
                .sorted(Comparator.comparingLong(entry -> -entry.getValue().actions()))
                .map(entry -> entry.getValue().result(entry.getKey()))
                .toList();
    }

    /** A host in a replay: its last picture, without what the replay has terminated and detached. Marks are in milliseconds. */
    static final class ReplayedHost {
        static final long NEVER = Long.MAX_VALUE;
        /** So many are remembered also where an observation is never complete. */
        private static final int MAX_REMEMBERED = 10_000;

        private static final long MILLIS_PER_TICK = 10;

        final History history;
        private final Set<ProcessId> terminated = new HashSet<>();
        private final Set<AttachmentId> detached = new HashSet<>();
        private @Nullable Picture picture;
        private long mark;
        /** When its rules are to be checked. */
        long due = NEVER;

        ReplayedHost(History history) {
            this.history = history;
        }

        /** Returns what the last picture shows; empty if the host is not known. */
        Optional<Snapshot> snapshot() {
            return Optional.ofNullable(picture).map(Picture::snapshot);
        }

        /** Continues with a picture, and returns whether it decides anew how many devices users hold. */
        boolean show(@Nullable Picture next, long now) {
            var before = picture;
            picture = next;
            mark = now;
            if (before != null && next != null && before.isSame(next)) {
                return false;
            }
            due = now;
            if (next != null) {
                forgetAbsent(next.snapshot());
            }
            return before == null || next == null || !holdsSame(before.snapshot(), next.snapshot());
        }

        private static boolean holdsSame(Snapshot one, Snapshot other) {
            return one.environments().equals(other.environments())
                    && one.devices().equals(other.devices())
                    && one.listedDevices().equals(other.listedDevices())
                    && one.missing().equals(other.missing());
        }

        /** Forgets what the past no longer shows: the same environment may be attached again. What was not observed may still be there. */
        private void forgetAbsent(Snapshot snapshot) {
            if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS)
                    || terminated.size() > MAX_REMEMBERED) {
                terminated.retainAll(
                        snapshot.processes().stream().map(GpuProcess::id).collect(Collectors.toSet()));
            }
            if (snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS) || detached.size() > MAX_REMEMBERED) {
                detached.retainAll(snapshot.devices().stream()
                        .flatMap(device -> device.attachments().stream()
                                .map(attachment -> new AttachmentId(device.index(), attachment)))
                        .collect(Collectors.toSet()));
            }
        }

        /** Has a history know that the state was still the same in the last cycle before a mark. */
        void repeatLast(History of, long next, Duration interval) {
            var last = next - interval.toMillis();
            if (picture != null && last > mark && picture.snapshot().has(SnapshotPart.ENVIRONMENTS)) {
                of.recordUnchanged(picture.snapshot().host(), ticks(picture, last));
            }
        }

        /** Returns the observation as it would have been; empty if the host is not known. */
        Optional<Snapshot> observed(long now) {
            return Optional.ofNullable(picture).map(its -> its.observed(remaining(its.snapshot()), ticks(its, now)));
        }

        private long ticks(Picture of, long now) {
            return of.ticks() + (now - mark) / MILLIS_PER_TICK;
        }

        private Snapshot remaining(Snapshot snapshot) {
            if (terminated.isEmpty() && detached.isEmpty()) {
                return snapshot;
            }
            return snapshot.withProcesses(snapshot.processes().stream()
                            .filter(process -> !terminated.contains(process.id()))
                            .toList())
                    .withDevices(
                            snapshot.devices().stream().map(this::remaining).toList());
        }

        private Device remaining(Device device) {
            return new Device(
                    device.index(),
                    device.totalMemory(),
                    device.attachments().stream()
                            .filter(attachment -> !detached.contains(new AttachmentId(device.index(), attachment)))
                            .toList());
        }

        /** Leaves out from now on what an action ends, and returns whether that is new. */
        boolean apply(Action action) {
            return switch (action) {
                case Action.Terminate(var _, var process, var _) -> terminated.add(process.id());
                case Action.Detach(var _, var _, var device, var attachment) ->
                    detached.add(new AttachmentId(device, attachment));
            };
        }
    }
}
