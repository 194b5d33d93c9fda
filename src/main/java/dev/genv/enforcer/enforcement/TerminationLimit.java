package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Limits how many processes of a host are terminated in one cycle. The users of a host take turns by their uids, so that the processes of one
 * user do not delay those of another; all processes of unknown users are one group. Within a user the longest violation comes first, so that
 * newer processes cannot delay it; a process that could not be signalled before comes last.
 */
final class TerminationLimit {
    private final int most;
    private final Set<HostProcess> failed = new HashSet<>();
    /** The user of each host who had the last turn. */
    private final Map<String, Turn> last = new HashMap<>();

    /** A place in the order of the users; the uid is null for all processes of unknown users. */
    private record Turn(@Nullable Long uid) {
        static final Comparator<Turn> ORDER =
                Comparator.comparing(Turn::uid, Comparator.nullsFirst(Comparator.naturalOrder()));
    }

    /** Creates a limit of this number for each host and cycle; 0 for no limit. */
    TerminationLimit(int most) {
        this.most = most;
    }

    int most() {
        return most;
    }

    /**
     * Returns the actions that must wait for the next cycle. SIGKILL is not limited, because its SIGTERM was.
     *
     * @param lasted for how long the violations of an action were observed
     */
    Set<PlannedAction> selectDeferred(List<PlannedAction> due, Function<PlannedAction, Duration> lasted) {
        var byHost = new HashMap<String, NavigableMap<Turn, Queue<Candidate>>>();
        var targets = new HashSet<HostProcess>();
        for (var planned : due) {
            if (planned.isSigterm() && planned.action() instanceof Action.Terminate terminate) {
                var process = terminate.process();
                targets.add(terminate.target());
                byHost.computeIfAbsent(terminate.host(), _ -> new TreeMap<>(Turn.ORDER))
                        .computeIfAbsent(new Turn(process.ownerOrUid()), _ -> new PriorityQueue<>())
                        .add(new Candidate(
                                planned, process.id(), hasFailed(terminate.target()), lasted.apply(planned)));
            }
        }
        failed.retainAll(targets);
        last.keySet().retainAll(byHost.keySet());
        var deferred = new HashSet<PlannedAction>();
        if (most > 0) {
            byHost.forEach((host, byUser) -> {
                for (var permits = most; permits > 0 && !byUser.isEmpty(); permits--) {
                    takeTurn(host, byUser);
                }
                byUser.values().forEach(candidates -> candidates.forEach(each -> deferred.add(each.planned)));
            });
        }
        return deferred;
    }

    /** Takes a process of the user after the one who had the last turn. */
    private void takeTurn(String host, NavigableMap<Turn, Queue<Candidate>> byUser) {
        var before = last.get(host);
        var next = before == null ? null : byUser.higherKey(before);
        var turn = next == null ? byUser.firstKey() : next;
        var candidates = Objects.requireNonNull(byUser.get(turn));
        candidates.remove();
        if (candidates.isEmpty()) {
            byUser.remove(turn);
        }
        last.put(host, turn);
    }

    /** Whether the last signal of a process failed. */
    boolean hasFailed(HostProcess process) {
        return failed.contains(process);
    }

    /** Records the answers of hosts. An action without an answer neither succeeded nor failed. */
    void record(List<ActionRecord> results) {
        for (var done : results) {
            var outcome = done.result().outcome();
            if (done.planned().action() instanceof Action.Terminate terminate && !outcome.isSkipped()) {
                failed.remove(terminate.target());
                if (outcome.isFailure()) {
                    failed.add(terminate.target());
                }
            }
        }
    }

    private record Candidate(PlannedAction planned, ProcessId id, boolean hasFailed, Duration lasted)
            implements Comparable<Candidate> {
        private static final Comparator<Candidate> ORDER = Comparator.comparing(Candidate::hasFailed)
                .thenComparing(Candidate::lasted, Comparator.reverseOrder())
                .thenComparingLong(candidate -> candidate.id.startTime())
                .thenComparingInt(candidate -> candidate.id.pid());

        @Override
        public int compareTo(Candidate other) {
            return ORDER.compare(this, other);
        }
    }
}
