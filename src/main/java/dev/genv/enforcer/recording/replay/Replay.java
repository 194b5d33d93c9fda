package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.enforcement.history.Claims.RecordedAppearances;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleScope;
import dev.genv.enforcer.recording.RecordedCycle;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Applies a policy to the recorded past, one cycle after the other. Each process is terminated once and each attachment detached once:
 * from then on it is left out of the past. Protected processes and those of exempt users are spared, because that was recorded with
 * them. Grace periods, the termination limit and the modes of the service do not apply, and neither does the protection of processes
 * that other users may have added to their environments.
 */
public final class Replay {
    /** The largest number of users with a result of their own: users can write any name. */
    static final int MAX_USERS = 1_000;
    /** The largest number of listed actions of all users together. */
    static final int MAX_LISTED = 2_000;

    private final Policy policy;
    private final boolean remote;
    private final RecordedAppearances attachments;
    private final UserNames names = new UserNames();
    private final Map<String, ReplayedHost> hosts = new HashMap<>();
    private final Map<UserKey, ReplayedUser> users = new HashMap<>();
    private final Map<String, HoldingState> holdings = new HashMap<>();
    /** The hosts that changed since the last check, or on which it detached something: other rules may ask for more there. */
    private final Set<String> unchecked = new HashSet<>();

    private Appearances appearances = Appearances.NONE;
    /** Whether what users hold has changed since the last check of it. */
    private boolean mayHoldMore;

    private boolean isUndecided;
    private int listed;
    private long cycles;
    private @Nullable Instant from;
    private @Nullable Instant to;

    /** What decides how many devices the users of a host hold. */
    private record HoldingState(
            List<Environment> environments,
            List<Device> devices,
            Set<Integer> listedDevices,
            Set<SnapshotPart> missing) {}

    /**
     * Creates a replay.
     *
     * @param trustsRecordedTimes whether the recorded times decide which attachments of the first cycle are the newest
     * @param remote whether messages name the host
     */
    public Replay(Policy policy, boolean trustsRecordedTimes, boolean remote) {
        this.policy = policy;
        this.remote = remote;
        attachments = new RecordedAppearances(trustsRecordedTimes);
    }

    /** Observes a cycle outside of the period: it shows the age of attachments, and the names of users. */
    public void observe(RecordedCycle cycle) {
        if (take(cycle) && policy.checks(RuleScope.FLEET)) {
            appearances = attachments.record(remaining(cycle, cycle.snapshots().keySet()));
        }
    }

    /** Checks the next cycle. */
    public void check(RecordedCycle cycle) {
        cycles += from == null ? 1 : cycle.cycles();
        from = from == null ? cycle.at() : from;
        to = cycle.at();
        take(cycle);
        var changed = Set.copyOf(unchecked);
        unchecked.clear();
        if (changed.isEmpty()) {
            return; // the same past gives the same plan
        }
        // Only what users hold on all hosts together can exceed a limit on a host that did not change.
        if ((mayHoldMore || isUndecided) && policy.checks(RuleScope.FLEET)) {
            var fleet = remaining(cycle, cycle.snapshots().keySet());
            appearances = attachments.record(fleet);
            mayHoldMore = false;
            check(cycle, fleet);
        } else if (policy.checks(RuleScope.HOST)) {
            check(cycle, remaining(cycle, changed));
        }
    }

    /** Returns whether what users may hold has changed. */
    private boolean take(RecordedCycle cycle) {
        names.add(cycle);
        unchecked.addAll(cycle.changed());
        hosts.keySet().retainAll(cycle.snapshots().keySet());
        holdings.keySet().retainAll(cycle.snapshots().keySet());
        var isOther = false;
        for (var name : cycle.changed()) {
            var snapshot = cycle.snapshots().get(name);
            if (snapshot != null) {
                replayedHost(name).forgetAbsent(snapshot);
                var now = new HoldingState(
                        snapshot.environments(), snapshot.devices(), snapshot.listedDevices(), snapshot.missing());
                isOther |= !now.equals(holdings.put(name, now));
            }
        }
        mayHoldMore |= isOther;
        return isOther;
    }

    /** Returns what would have remained on these hosts. */
    private List<Snapshot> remaining(RecordedCycle cycle, Collection<String> which) {
        return which.stream()
                .flatMap(name -> Optional.ofNullable(cycle.snapshots().get(name)).stream())
                .map(snapshot -> replayedHost(snapshot.host()).removeFrom(snapshot))
                .toList();
    }

    private void check(RecordedCycle cycle, List<Snapshot> fleet) {
        var plan = policy.check(new Fleet(fleet, remote, appearances), Set.of());
        isUndecided =
                plan.problems().stream().anyMatch(problem -> problem.problem().code() == ProblemCode.QUOTA_UNDECIDED);
        var usersOn = new HashMap<String, ProcessUsers>();
        for (var planned : plan.actions()) {
            if (planned.enforced() && !isImmune(planned.action()) && apply(planned.action())) {
                add(cycle, planned, userOf(cycle, planned, usersOn));
            }
        }
    }

    private ReplayedHost replayedHost(String host) {
        return hosts.computeIfAbsent(host, _ -> new ReplayedHost());
    }

    private static boolean isImmune(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> process.immunity() != null;
            case Action.Detach(var _, var environment, var _, var _) ->
                environment.ownership().exempt();
        };
    }

    private boolean apply(Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var _) ->
                replayedHost(host).terminate(process.id());
            case Action.Detach detach -> detach(detach);
        };
    }

    private boolean detach(Action.Detach detach) {
        var isNew = replayedHost(detach.host()).detach(detach.device(), detach.attachment());
        if (isNew) {
            unchecked.add(detach.host());
        }
        return isNew;
    }

    private void add(RecordedCycle cycle, PlannedAction planned, UserKey user) {
        var key = users.containsKey(user) || users.size() < MAX_USERS ? user : UserKey.UNKNOWN;
        var result = users.computeIfAbsent(key, _ -> new ReplayedUser(names.nameOf(key)));
        if (result.add(ReplayedAction.of(cycle.at(), planned), listed < MAX_LISTED)) {
            listed++;
        }
    }

    /** A stranger in an environment is not the environment's user. */
    private UserKey userOf(RecordedCycle cycle, PlannedAction planned, Map<String, ProcessUsers> usersOn) {
        return switch (planned.action()) {
            case Action.Terminate(var host, var process, var _) ->
                planned.rules().stream().anyMatch(RuleDefinition::isEnforcedByUids)
                        ? names.ofUid(host, process.uid())
                        : usersOn.computeIfAbsent(
                                        host,
                                        name -> new ProcessUsers(
                                                Objects.requireNonNull(
                                                        cycle.snapshots().get(name)),
                                                names))
                                .of(process);
            case Action.Detach(var host, var environment, var _, var _) -> names.ownerOf(host, environment);
        };
    }

    /** The first cycle; null if there was none. */
    public @Nullable Instant from() {
        return from;
    }

    /** The last cycle; null if there was none. */
    public @Nullable Instant to() {
        return to;
    }

    public long cycles() {
        return cycles;
    }

    /** The users to whom the policy would have done something, those with the most actions first. */
    public List<ReplayedUser> users() {
        var byName = new HashMap<Optional<String>, ReplayedUser>();
        users.forEach((user, result) ->
                byName.computeIfAbsent(names.nameOf(user), ReplayedUser::new).add(result));
        return byName.values().stream()
                .sorted(Comparator.comparingLong(ReplayedUser::actions).reversed())
                .toList();
    }
}
