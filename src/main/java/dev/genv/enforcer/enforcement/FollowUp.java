package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Signal;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What one cycle shows of the processes that were asked to end before.
 *
 * @param kills those whose time is up and that still break a rule
 * @param unkillable those that were killed long ago and are still there
 */
record FollowUp(List<PlannedAction> kills, List<PlannedAction> unkillable) {

    /**
     * Looks after them.
     *
     * @param isEnforced whether anything is done about the violations of a rule
     */
    static FollowUp of(
            AskedProcesses asked, Grace grace, Predicate<RuleName> isEnforced, Plan plan, List<HostReport> hosts) {
        var followUp = new FollowUp(new ArrayList<>(), new ArrayList<>());
        var wanted = wanted(plan);
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
                var causes = asked.causesOf(target);
                var breaks = Stream.concat(
                                wanted.getOrDefault(target, List.of()).stream(),
                                // Its memory counts as freed, so nobody plans to end it; but it is still there.
                                plan.violations().stream()
                                        .filter(violation -> causes.contains(violation.key())
                                                && violation.processes().contains(process)))
                        .filter(violation -> isEnforced.test(violation.rule()))
                        .filter(violation -> grace.reasonToWait(violation, kill).isEmpty())
                        .collect(Collectors.toCollection(LinkedHashSet::new));
                followUp.add(asked.next(target, breaks, host.isComplete()), kill, List.copyOf(breaks));
            }
        }
        return followUp;
    }

    private void add(AskedProcesses.Next next, Action.Terminate kill, List<Violation> breaks) {
        switch (next) {
            case NOTHING -> {}
            case KILL -> kills.add(new PlannedAction(kill, breaks, true));
            case UNKILLABLE -> unkillable.add(new PlannedAction(kill, breaks, true));
        }
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
