package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Idleness.HostDevice;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Violated by a process that holds memory of devices and has not computed there for a long time. The utilization is that of a device, not of a
 * process, so the rule acts only if all processes of the devices belong to one environment.
 */
final class IdleProcessesRule implements Rule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "idle-processes",
            "Process that holds GPU memory and does not compute",
            "Stop the job if you do not need it. If you need GPU N later, `genv attach --index N` attaches it again if it is free.",
            RuleMode.OFF,
            RuleScope.HOST,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.ENVIRONMENTS),
            List.of(new RuleSetting("idle-processes", RuleSetting.Kind.MODE, """
                Processes that hold memory of a GPU whose utilization was at most `GENV_ENFORCER_IDLE_UTILIZATION` in every sample for \
                `GENV_ENFORCER_IDLE_AFTER`. `enforce` terminates them. Where processes of several environments share a GPU, the rule \
                only reports that it cannot decide.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public RuleResult check(Fleet fleet, RuleContext context) {
        var findings = new ArrayList<RuleFinding>();
        var problems = new ArrayList<HostProblem>();
        for (var snapshot : DEFINITION.checkable(fleet)) {
            var quiet = snapshot.listedDevices().stream()
                    .filter(device ->
                            isLong(fleet.idleness().quiet().get(new HostDevice(snapshot.host(), device)), context))
                    .collect(Collectors.toUnmodifiableSet());
            var undecided = new HashSet<Integer>();
            for (var process : snapshot.processes()) {
                if (process.immunity() != null
                        || !quiet.containsAll(process.devices())
                        || !holdsMemory(process)
                        || !isLong(
                                fleet.idleness().processes().get(new HostProcess(snapshot.host(), process.id())),
                                context)) {
                    continue;
                }
                var shared = process.devices().stream()
                        .filter(device -> !belongsToOneEnvironment(snapshot, device, process))
                        .toList();
                if (shared.isEmpty()) {
                    findings.add(finding(fleet, snapshot, process, context));
                } else {
                    undecided.addAll(shared);
                }
            }
            undecided.stream().sorted().map(device -> problem(snapshot, device)).forEach(problems::add);
        }
        return new RuleResult(findings, problems);
    }

    private static boolean isLong(@Nullable Duration idle, RuleContext context) {
        return idle != null && idle.compareTo(context.idle().after()) >= 0;
    }

    private static boolean holdsMemory(GpuProcess process) {
        return process.usage().stream()
                .anyMatch(use -> use.memory() != null && use.memory().compareTo(Memory.ZERO) > 0);
    }

    /** Programs that the machine needs, such as a display server, do not compute. */
    private static boolean belongsToOneEnvironment(Snapshot snapshot, int device, GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid)
                && snapshot.environmentsById().containsKey(eid)
                && !snapshot.unlisted().memory().containsKey(device)
                && snapshot.allProcesses().stream()
                        .filter(other -> other.uses(device) && !isProtected(other))
                        .allMatch(other -> other.names(eid));
    }

    private static boolean isProtected(GpuProcess process) {
        return process.immunity() != null && process.immunity().kind() == Immunity.Kind.PROTECTED;
    }

    private static RuleFinding finding(Fleet fleet, Snapshot snapshot, GpuProcess process, RuleContext context) {
        var eid = process.membership() instanceof Membership.InEnvironment(var own) ? own : "";
        var environment = snapshot.environmentsById().get(eid);
        var message = Messages.on(fleet, snapshot.host())
                + "Process %d from environment %s has not computed on GPU(s) %s for %s"
                        .formatted(
                                process.pid(),
                                SafeText.escape(eid),
                                Messages.list(process.devices()),
                                context.idle().text());
        return RuleFinding.ofProcess(
                DEFINITION,
                snapshot,
                process,
                message,
                environment == null ? null : environment.user().orElse(null),
                eid,
                process.devices());
    }

    private static HostProblem problem(Snapshot snapshot, int device) {
        return new HostProblem(
                snapshot.host(),
                ProblemCode.IDLE_UNDECIDED,
                "Device %d has long been idle, but not all its processes are in one environment, so it is unknown which of them is idle"
                        .formatted(device));
    }
}
