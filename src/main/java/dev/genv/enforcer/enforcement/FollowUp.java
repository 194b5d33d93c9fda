package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.Signal;
import dev.genv.enforcer.policy.Violation;
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

/** Looks after the processes that were asked to end: who still breaks a rule when his time is up is killed. */
final class FollowUp {
    private final AskedProcesses asked;
    private final BiPredicate<Violation, Action> isDue;
    private final Function<Set<HostProcess>, Plan> again;

    /**
     * What is to be done about those that were asked.
     *
     * @param kills those whose time is up and that still break a rule
     * @param unkillable those that were killed long ago and are still there
     */
    record Next(List<PlannedAction> kills, List<PlannedAction> unkillable) {}

    /**
     * Prepares it.
     *
     * @param isDue whether it is time to do this for that
     * @param again makes the plan again, with other processes that count as gone
     */
    FollowUp(AskedProcesses asked, BiPredicate<Violation, Action> isDue, Function<Set<HostProcess>, Plan> again) {
        this.asked = asked;
        this.isDue = isDue;
        this.again = again;
    }

    Next of(Plan plan, List<HostReport> hosts) {
        var next = new Next(new ArrayList<>(), new ArrayList<>());
        var wanted = wanted(plan);
        var doubtful = new LinkedHashMap<HostProcess, Action.Terminate>();
        for (var host : hosts) {
            var present = host.snapshot().processes().stream()
                    .collect(Collectors.toMap(GpuProcess::id, Function.identity(), (one, _) -> one));
            for (var target : asked.of(host.host())) {
                var process = present.get(target.id());
                if (process == null) {
                    asked.next(target, List.of(), host.isComplete());
                    continue;
                }
                var kill = new Action.Terminate(host.host(), process, Signal.KILL);
                var planned = due(wanted.getOrDefault(target, List.of()), kill);
                // Its memory counts as freed, so nobody plans to end it; but it is still there.
                var causes = asked.causesOf(target);
                var unplanned = due(
                        plan.violations().stream()
                                .filter(violation -> causes.contains(violation.key())
                                        && violation.processes().contains(process))
                                .toList(),
                        kill);
                var breaks = Stream.concat(planned.stream(), unplanned.stream())
                        .distinct()
                        .toList();
                switch (asked.next(target, breaks, isJudged(process, host))) {
                    case NOTHING -> {}
                    case UNKILLABLE -> next.unkillable.add(new PlannedAction(kill, breaks, true));
                    case KILL -> {
                        if (planned.isEmpty()) {
                            doubtful.put(target, kill);
                        } else {
                            next.kills.add(new PlannedAction(kill, planned, true));
                        }
                    }
                }
            }
        }
        next.kills.addAll(stillNeeded(doubtful));
        return next;
    }

    /** Whether the rules could judge this process, also where another one or a device could not be observed. */
    private static boolean isJudged(GpuProcess process, HostReport host) {
        return !(process.membership() instanceof Membership.Unknown)
                && host.snapshot().knows(Part.PROCESSES, Part.ENVIRONMENTS, Part.ATTACHMENTS);
    }

    /** Those that would be chosen again if they did not count as gone: since then others may have taken or given memory. */
    private List<PlannedAction> stillNeeded(Map<HostProcess, Action.Terminate> doubtful) {
        var needed = new ArrayList<PlannedAction>();
        if (!doubtful.isEmpty()) {
            var gone = new HashSet<>(asked.justAsked());
            gone.removeAll(doubtful.keySet());
            var wanted = wanted(again.apply(gone));
            doubtful.forEach((target, kill) -> {
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

    /** For which violations each process is to be ended. */
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
