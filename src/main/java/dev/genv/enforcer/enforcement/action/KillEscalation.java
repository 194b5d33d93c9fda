package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.action.Termination.Sighting;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Sends SIGKILL to signalled processes that still break a rule after the time limit. */
public record KillEscalation(PendingTerminations pending, Ticker ticker) {
    /** What is observed of a signalled process that is still on a GPU. */
    private record Check(Action.Terminate kill, List<Violation> planned, List<Violation> all, Sighting sighting) {}

    /** Records for each pending termination what a cycle observed, and decides what is due. */
    public Review review(Evidence evidence) {
        var records = new ArrayList<ActionRecord>();
        pending.recordExits(evidence.seen())
                .forEach(last -> records.add(new ActionRecord(last, Result.of(Outcome.EXITED), ticker.now())));
        var kills = new ArrayList<PlannedAction>();
        var unconfirmed = new LinkedHashMap<HostProcess, Action.Terminate>();
        var wanted = wanted(evidence.plan());
        for (var host : evidence.seen().hosts()) {
            var present = host.snapshot().processes().stream()
                    .collect(Collectors.toMap(GpuProcess::id, Function.identity(), (one, _) -> one));
            for (var target : pending.processesOn(host.host())) {
                var process = present.get(target.id());
                if (process == null) {
                    pending.record(target, wouldBeFound(host) ? Sighting.COMPLIES : Sighting.UNKNOWN);
                    continue;
                }
                var check = check(target, process, host, wanted.getOrDefault(target, List.of()), evidence);
                switch (pending.record(target, check.sighting).orElseGet(Termination.Forgotten::new)) {
                    case Termination.Unkillable _ ->
                        records.add(new ActionRecord(
                                new PlannedAction(check.kill, check.all, true),
                                new Result(Outcome.UNKILLABLE, "SIGKILL did not terminate it"),
                                ticker.now()));
                    case Termination.Overdue _ when check.planned.isEmpty() -> unconfirmed.put(target, check.kill);
                    case Termination.Overdue _ -> kills.add(new PlannedAction(check.kill, check.planned, true));
                    case Termination _ -> {}
                }
            }
        }
        return new Review(evidence, records, kills, unconfirmed, pending.expectedToExit());
    }

    /**
     * Returns the actions of a cycle: SIGKILL where it is due, and the plan without the processes that were signalled before. The second
     * check is empty if the rules need not choose again.
     */
    public List<PlannedAction> extend(Review review, Plan secondCheck) {
        var evidence = review.evidence();
        var wanted = wanted(secondCheck);
        var actions = new ArrayList<>(review.kills());
        review.unconfirmed().forEach((target, kill) -> {
            var causes = due(wanted.getOrDefault(target, List.of()), kill, evidence);
            if (!causes.isEmpty()) {
                actions.add(new PlannedAction(kill, causes, true));
            }
        });
        evidence.plan().actions().stream()
                .filter(planned -> !(planned.action() instanceof Action.Terminate terminate
                        && pending.contains(terminate.target())))
                .forEach(actions::add);
        return actions;
    }

    /** Whether a process would have been observed if it were still on a GPU. */
    private static boolean wouldBeFound(HostReport host) {
        return host.snapshot().has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS);
    }

    private Check check(
            HostProcess target, GpuProcess process, HostReport host, List<Violation> wanted, Evidence evidence) {
        var kill = new Action.Terminate(host.host(), process, Signal.KILL);
        var planned = due(wanted, kill, evidence);
        // Rules treat its memory as freed, so the plan does not contain it, but it still runs.
        var causes = pending.causesOf(target);
        var unplanned = evidence.plan().violations().stream()
                .filter(violation -> causes.contains(violation.key())
                        && violation.processes().contains(process))
                .toList();
        var all = Stream.concat(planned.stream(), due(unplanned, kill, evidence).stream())
                .distinct()
                .toList();
        var sighting = isChecked(process, host) ? Sighting.COMPLIES : Sighting.UNKNOWN;
        return new Check(kill, planned, all, all.isEmpty() ? sighting : Sighting.BREAKS_RULES);
    }

    /** Whether the rules could check this process, even if another process or a device could not be observed. */
    private static boolean isChecked(GpuProcess process, HostReport host) {
        return !(process.membership() instanceof Membership.Unknown)
                && host.snapshot().has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
    }

    private static List<Violation> due(List<Violation> causes, Action.Terminate action, Evidence evidence) {
        return causes.stream()
                .filter(cause -> evidence.isInForce(cause, action)
                        && evidence.delay(cause, action).isEmpty())
                .toList();
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

    /**
     * The pending terminations after an observation.
     *
     * @param records the processes that have exited, and those that still exist long after SIGKILL
     * @param kills SIGKILL for the processes that the plan terminates and whose time limit is over
     * @param unconfirmed SIGKILL for processes whose time limit is over, but which the plan does not contain, because rules treat
     *     their memory as freed. They are killed only if the rules choose them again when they are not treated as gone: memory
     *     use may have changed
     * @param signalled the processes that rules treat as gone
     */
    public record Review(
            Evidence evidence,
            List<ActionRecord> records,
            List<PlannedAction> kills,
            Map<HostProcess, Action.Terminate> unconfirmed,
            Set<HostProcess> signalled) {
        /** Whether the rules must choose again. */
        public boolean needsSecondCheck() {
            return !unconfirmed.isEmpty();
        }

        /** What the rules know when they choose again: the unconfirmed processes did not exit, and are chosen before others. */
        public ExpectedExits expectedExits() {
            return new ExpectedExits(signalled, unconfirmed.keySet(), Set.of());
        }
    }
}
