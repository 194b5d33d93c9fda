package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Signal;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Sends SIGKILL to signalled processes that still break a rule after the time limit. */
final class KillEscalation {
    private final PendingTerminations pending;
    private final BiPredicate<Violation, Action> isDue;
    private final Function<Set<HostProcess>, Plan> recheck;

    /**
     * The next actions on signalled processes.
     *
     * @param kills SIGKILL for the processes that still break a rule after the time limit
     * @param unkillable the actions whose processes still exist long after SIGKILL
     */
    record NextActions(List<PlannedAction> kills, List<PlannedAction> unkillable) {}

    /**
     * Creates an escalation.
     *
     * @param isDue whether the grace of a violation has passed for an action
     * @param again checks the policy again with other processes treated as gone
     */
    KillEscalation(
            PendingTerminations pending, BiPredicate<Violation, Action> isDue, Function<Set<HostProcess>, Plan> again) {
        this.pending = pending;
        this.isDue = isDue;
        this.recheck = again;
    }

    NextActions escalate(Plan plan, List<HostReport> hosts) {
        var next = new NextActions(new ArrayList<>(), new ArrayList<>());
        var wanted = wanted(plan);
        var suspect = new LinkedHashMap<HostProcess, Action.Terminate>();
        for (var host : hosts) {
            var present = host.snapshot().processes().stream()
                    .collect(Collectors.toMap(GpuProcess::id, Function.identity(), (one, _) -> one));
            for (var target : pending.processesOn(host.host())) {
                var process = present.get(target.id());
                if (process == null) {
                    pending.recordCheck(target, List.of(), host.isComplete());
                    continue;
                }
                var kill = new Action.Terminate(host.host(), process, Signal.KILL);
                var planned = due(wanted.getOrDefault(target, List.of()), kill);
                // Rules treat its memory as freed, so the plan does not contain it, but it still runs.
                var causes = pending.causesOf(target);
                var unplanned = due(
                        plan.violations().stream()
                                .filter(violation -> causes.contains(violation.key())
                                        && violation.processes().contains(process))
                                .toList(),
                        kill);
                var breaks = Stream.concat(planned.stream(), unplanned.stream())
                        .distinct()
                        .toList();
                switch (pending.recordCheck(target, breaks, isChecked(process, host))) {
                    case NOTHING -> {}
                    case UNKILLABLE -> next.unkillable.add(new PlannedAction(kill, breaks, true));
                    case KILL -> {
                        if (planned.isEmpty()) {
                            suspect.put(target, kill);
                        } else {
                            next.kills.add(new PlannedAction(kill, planned, true));
                        }
                    }
                }
            }
        }
        next.kills.addAll(confirm(suspect));
        return next;
    }

    /** Whether the rules could check this process, even if another process or a device could not be observed. */
    private static boolean isChecked(GpuProcess process, HostReport host) {
        return !(process.membership() instanceof Membership.Unknown)
                && host.snapshot().has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
    }

    /** Returns the processes that the rules choose again if they are not treated as gone, because memory use may have changed. */
    private List<PlannedAction> confirm(Map<HostProcess, Action.Terminate> suspect) {
        var needed = new ArrayList<PlannedAction>();
        if (!suspect.isEmpty()) {
            var gone = new HashSet<>(pending.recentlySignalled());
            gone.removeAll(suspect.keySet());
            var wanted = wanted(recheck.apply(gone));
            suspect.forEach((target, kill) -> {
                var causes = due(wanted.getOrDefault(target, List.of()), kill);
                if (!causes.isEmpty()) {
                    needed.add(new PlannedAction(kill, causes, true));
                }
            });
        }
        return needed;
    }

    private List<Violation> due(List<Violation> causes, Action action) {
        return causes.stream().filter(cause -> isDue.test(cause, action)).toList();
    }

    /** Returns the violations for which each process is to be terminated. */
    private static Map<HostProcess, List<Violation>> wanted(Plan plan) {
        var wanted = new HashMap<HostProcess, List<Violation>>();
        for (var planned : plan.actions()) {
            if (planned.action() instanceof Action.Terminate terminate) {
                wanted.put(terminate.target(), planned.causes());
            }
        }
        return wanted;
    }
}
