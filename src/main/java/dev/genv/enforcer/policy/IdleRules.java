package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The rules about devices and processes that were idle for a long time. Their messages have the limit and not the present time. */
final class IdleRules {
    /** Violated by an environment that holds a device on which nothing ran for a long time. */
    static final RuleDefinition IDLE_DEVICES = new RuleDefinition(
            "idle-devices",
            "GPU that is held and not used",
            """
            If you do not need GPU N, detach it with `genv detach --index N` in the shell of its environment, so that others can use \
            it.\
            """,
            RuleMode.AUDIT,
            RuleBasis.LISTED_PROCESSES,
            Set.of(
                    SnapshotPart.PROCESSES,
                    SnapshotPart.EVERY_PROCESS,
                    SnapshotPart.ENVIRONMENTS,
                    SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("idle-devices", RuleSetting.Kind.MODE, """
                Attached GPUs on which no process ran, and no memory was used, for `GENV_ENFORCER_IDLE_AFTER`. `enforce` detaches them.\
                """)),
            Rule.ofHost(IdleRules::devices));

    /**
     * Violated by a process that holds memory of devices and has not computed there for a long time. The utilization is that of a device, not
     * of a process: if a device was quiet in every sample, so was every process on it.
     */
    static final RuleDefinition IDLE_PROCESSES = new RuleDefinition(
            "idle-processes",
            "Process that holds GPU memory and does not compute",
            "Stop the job if you do not need it. If you need GPU N later, `genv attach --index N` attaches it again if"
                    + " it is free.",
            RuleMode.OFF,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.ENVIRONMENTS),
            List.of(new RuleSetting("idle-processes", RuleSetting.Kind.MODE, """
                Processes that hold memory of a GPU whose utilization was at most `GENV_ENFORCER_IDLE_UTILIZATION` in every sample for \
                `GENV_ENFORCER_IDLE_AFTER`. `enforce` terminates them.\
                """)),
            Rule.ofHost(IdleRules::processes));

    private IdleRules() {}

    private static void devices(Snapshot host, RuleCheck check) {
        var environments = host.environmentsById();
        for (var device : host.devices()) {
            if (host.unexplained().unknown().contains(device.index())
                    && !device.attachments().isEmpty()
                    && host.processes().stream()
                            .noneMatch(process -> process.uses(device.index()) && !process.isProtected())) {
                check.problem(
                        host,
                        ProblemCode.MEMORY_UNKNOWN,
                        "Device %d has no listed process, and the driver does not report its used memory, so it is unknown whether it is used"
                                .formatted(device.index()));
            }
            device.attachments().stream().map(Device.Attachment::eid).distinct().forEach(eid -> {
                var environment = environments.get(eid);
                var attachment = new Appearances.Key(host.host(), eid, device.index());
                if (environment != null
                        && !environment.ownership().isDisputed()
                        && environment.user().isPresent() // of others it is unknown since when they hold a device
                        && isLong(check.fleet().idleness().attachments().get(attachment), check)) {
                    addDevice(host, device, environment, check);
                }
            });
        }
    }

    private static void addDevice(Snapshot snapshot, Device device, Environment environment, RuleCheck check) {
        var host = snapshot.host();
        var message = Messages.on(check.fleet(), host)
                + "Environment %s has not used device %d for %s"
                        .formatted(
                                SafeText.escape(environment.eid()),
                                device.index(),
                                check.idle().text());
        var violation = new Violation(
                IDLE_DEVICES,
                host,
                "environment %s device %d".formatted(environment.eid(), device.index()),
                message,
                environment.user().orElse(null),
                environment.eid(),
                List.of(device.index()),
                List.of());
        var actions = device.attachments().stream()
                .filter(attachment -> attachment.eid().equals(environment.eid()))
                .<Action>map(attachment -> new Action.Detach(host, environment, device.index(), attachment))
                .toList();
        check.add(violation, actions);
    }

    private static void processes(Snapshot host, RuleCheck check) {
        var idleness = check.fleet().idleness();
        var environments = host.environmentsById();
        var quiet = host.listedDevices().stream()
                .filter(device -> isLong(idleness.quiet().get(new HostDevice(host.host(), device)), check))
                .collect(Collectors.toUnmodifiableSet());
        for (var process : host.processes()) {
            if (process.immunity() == null
                    && quiet.containsAll(process.devices())
                    && holdsMemory(process)
                    && isLong(idleness.processes().get(new HostProcess(host.host(), process.id())), check)) {
                process.environment(environments)
                        .ifPresent(environment -> addProcess(host, process, environment, check));
            }
        }
    }

    private static boolean isLong(@Nullable Duration idle, RuleCheck check) {
        return idle != null && idle.compareTo(check.idle().after()) >= 0;
    }

    private static boolean holdsMemory(GpuProcess process) {
        return process.usage().stream()
                .anyMatch(use -> use.memory() != null && use.memory().compareTo(Memory.ZERO) > 0);
    }

    private static void addProcess(Snapshot host, GpuProcess process, Environment environment, RuleCheck check) {
        var message = "Process %d from environment %s has not computed on GPU(s) %s for %s"
                .formatted(
                        process.pid(),
                        SafeText.escape(environment.eid()),
                        Messages.list(process.devices()),
                        check.idle().text());
        check.add(
                Violation.of(process, environment, process.devices(), message, host, check),
                List.of(new Action.Terminate(host.host(), process)));
    }
}
