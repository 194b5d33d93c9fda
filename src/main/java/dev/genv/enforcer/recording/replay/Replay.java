package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.definition.RuleScope;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.usage.ProcessUsers;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Applies a policy to the recorded past, one cycle after the other. Each process and each attachment is ended once: from then on it is
 * left out of the past. Protected processes and those of exempt users are spared, because that was recorded with them. Grace periods,
 * the termination limit and the modes of the service do not apply.
 */
public final class Replay {
    /** The largest number of users with a result of their own: users can write any name. */
    static final int MAX_USERS = 1_000;
    /** The largest number of listed actions of all users together. */
    static final int MAX_LISTED = 2_000;

    private final Policy policy;
    private final boolean remote;
    private final Map<String, EndedOnHost> ended = new HashMap<>();
    private final Map<Optional<String>, ReplayedUser> users = new HashMap<>();
    private final Map<String, HoldingState> holdings = new HashMap<>();
    private int listed;
    private long cycles;
    private @Nullable Instant from;
    private @Nullable Instant to;

    /** What decides how many devices the users of a host hold. */
    private record HoldingState(
            List<Environment> environments,
            List<Device> devices,
            Set<Integer> listedDevices,
            Set<SnapshotPart> missing) {
        static HoldingState of(Snapshot snapshot) {
            return new HoldingState(
                    snapshot.environments(), snapshot.devices(), snapshot.listedDevices(), snapshot.missing());
        }
    }

    /**
     * Creates a replay.
     *
     * @param remote whether messages name the host
     */
    public Replay(Policy policy, boolean remote) {
        this.policy = policy;
        this.remote = remote;
    }

    /** Checks the next cycle. */
    public void check(RecordedCycle cycle) {
        cycles += from == null ? 1 : cycle.cycles();
        var first = from == null;
        from = first ? cycle.at() : from;
        to = cycle.at();
        var names = first ? cycle.snapshots().keySet() : cycle.changed();
        if (names.isEmpty()) {
            return; // the same past gives the same plan
        }
        ended.keySet().retainAll(cycle.snapshots().keySet());
        holdings.keySet().retainAll(cycle.snapshots().keySet());
        var mayHoldMore = false;
        for (var name : names) {
            var snapshot = cycle.snapshots().get(name);
            if (snapshot != null) {
                endedOn(name).forgetAbsent(snapshot);
                var now = HoldingState.of(snapshot);
                mayHoldMore |= !now.equals(holdings.put(name, now));
            }
        }
        // Only what users hold on all hosts together can exceed a limit on a host that did not change.
        if (mayHoldMore && policy.checks(RuleScope.FLEET)) {
            check(cycle, cycle.snapshots().keySet());
        } else if (policy.checks(RuleScope.HOST)) {
            check(cycle, names);
        }
    }

    private void check(RecordedCycle cycle, Collection<String> names) {
        var fleet = new ArrayList<Snapshot>();
        for (var name : names) {
            var snapshot = cycle.snapshots().get(name);
            if (snapshot != null) {
                fleet.add(endedOn(name).removeFrom(snapshot));
            }
        }
        for (var planned : policy.check(new Fleet(fleet, remote), Set.of()).actions()) {
            if (planned.enforced() && !isImmune(planned.action()) && end(planned.action())) {
                add(cycle, planned);
            }
        }
    }

    private EndedOnHost endedOn(String host) {
        return ended.computeIfAbsent(host, _ -> new EndedOnHost());
    }

    private static boolean isImmune(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> process.immunity() != null;
            case Action.Detach(var _, var environment, var _, var _) ->
                environment.ownership().exempt();
        };
    }

    private boolean end(Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var _) -> endedOn(host).terminate(process.id());
            case Action.Detach(var host, var _, var device, var attachment) ->
                endedOn(host).detach(device, attachment);
        };
    }

    private void add(RecordedCycle cycle, PlannedAction planned) {
        var user = userOf(cycle, planned.action());
        var key = users.containsKey(user) || users.size() < MAX_USERS ? user : Optional.<String>empty();
        var result = users.computeIfAbsent(key, name -> new ReplayedUser(name.orElse(null)));
        if (result.add(ReplayedAction.of(cycle.at(), planned), listed < MAX_LISTED)) {
            listed++;
        }
    }

    private static Optional<String> userOf(RecordedCycle cycle, Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var _) ->
                Optional.ofNullable(cycle.snapshots().get(host))
                        .flatMap(snapshot -> new ProcessUsers(snapshot).of(process));
            case Action.Detach(var _, var environment, var _, var _) -> ProcessUsers.of(environment);
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
        return users.values().stream()
                .sorted((one, other) -> Long.compare(
                        other.terminations() + other.detachments(), one.terminations() + one.detachments()))
                .toList();
    }
}
