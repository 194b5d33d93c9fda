package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Limits how many processes of a host are terminated in one cycle. In a cycle the users of a host take turns, so that the processes of one user
 * do not delay those of another; all processes of unknown users are one group. The longest violation comes first, so that newer processes
 * cannot delay it; a process that could not be signalled before comes last.
 */
final class TerminationLimit {
    private final int most;
    private final Set<HostProcess> failed = new HashSet<>();

    /** Creates a limit of this number for each host and cycle; 0 for no limit. */
    TerminationLimit(int most) {
        this.most = most;
    }

    int most() {
        return most;
    }

    /** A process in the order of a host, and how many processes of its user have come before it. */
    private record Candidate(PlannedAction planned, GpuProcess process, boolean hasFailed, Duration lasted, int turn) {
        static final Comparator<Candidate> ORDER = Comparator.comparingInt(Candidate::turn)
                .thenComparing(Candidate::hasFailed)
                .thenComparing(Candidate::lasted, Comparator.reverseOrder())
                .thenComparingLong(candidate -> candidate.process.id().startTime())
                .thenComparingInt(candidate -> candidate.process.pid());

        /** The uid, or that of the user who has it as a subordinate one; null for all processes of unknown users. */
        @Nullable
        Long user() {
            return process.owner() == null && process.rangeOwner() != null
                    ? process.rangeOwner()
                    : process.ownerOrUid();
        }

        Candidate withTurn(int number) {
            return new Candidate(planned, process, hasFailed, lasted, number);
        }
    }

    /**
     * Returns the actions that must wait for the next cycle. SIGKILL is not limited, because its SIGTERM was.
     *
     * @param lasted for how long the violations of an action were observed
     */
    Set<PlannedAction> selectDeferred(List<PlannedAction> due, Function<PlannedAction, Duration> lasted) {
        var byHost = new HashMap<String, List<Candidate>>();
        var targets = new HashSet<HostProcess>();
        for (var planned : due) {
            if (planned.isSigterm() && planned.action() instanceof Action.Terminate terminate) {
                var target = terminate.target();
                targets.add(target);
                byHost.computeIfAbsent(terminate.host(), _ -> new ArrayList<>())
                        .add(new Candidate(planned, terminate.process(), hasFailed(target), lasted.apply(planned), 0));
            }
        }
        failed.retainAll(targets);
        var deferred = new HashSet<PlannedAction>();
        if (most > 0) {
            byHost.values().forEach(candidates -> {
                var turns = new HashMap<@Nullable Long, Integer>();
                candidates.stream()
                        .sorted(Candidate.ORDER)
                        .map(candidate -> candidate.withTurn(turns.merge(candidate.user(), 1, Integer::sum)))
                        .sorted(Candidate.ORDER)
                        .skip(most)
                        .forEach(candidate -> deferred.add(candidate.planned));
            });
        }
        return deferred;
    }

    /** Whether the last signal of a process failed. */
    boolean hasFailed(HostProcess process) {
        return failed.contains(process);
    }

    /** Remembers the answers of hosts. An action without an answer neither succeeded nor failed. */
    void remember(List<ActionRecord> results) {
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
}
