package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.definition.RuleScope;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Messages;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Violated by a process that is not listed, and holds a device on which memory is unexplained, although the process is in no environment,
 * or in an active one to which none of these devices is attached. CUDA opens the files of all devices, so a single attached one suffices.
 */
final class UnlistedProcesses implements Rule {
    private static final RuleDefinition DEFINITION = RuleDefinition.named("unlisted-processes")
            .mode(RuleMode.OFF, """
                    Processes that the GPU tool does not list, which hold the device file of a GPU whose memory the listed processes do \
                    not explain, and which are in no environment that the GPU is attached to. `enforce` terminates them. Use `audit` \
                    first: a monitoring program holds the device files of all GPUs too.""")
            .scope(RuleScope.HOST)
            .requires(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)
            .restsOn(StateChangeKind.PID_REMOVED, StateChangeKind.ENVIRONMENT_ADDED, StateChangeKind.ATTACHMENT_REMOVED)
            .build();

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public RuleResult check(Fleet fleet, RuleContext context) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : DEFINITION.checkable(fleet)) {
            var unlisted = snapshot.unlisted().processes();
            if (!unlisted.isEmpty()) {
                findings.addAll(check(fleet, snapshot, unlisted));
            }
        }
        return new RuleResult(findings);
    }

    private static List<Finding> check(Fleet fleet, Snapshot snapshot, List<GpuProcess> unlisted) {
        var findings = new ArrayList<Finding>();
        var environments = snapshot.environmentsById();
        var devices = snapshot.devicesByIndex();
        for (var process : unlisted) {
            switch (process.membership()) {
                case Membership.Outside _ -> findings.add(finding(fleet, snapshot, process, null));
                case Membership.InEnvironment(var eid) -> {
                    var environment = environments.get(eid);
                    if (environment != null && holdsOnlyOthers(process, environment, devices)) {
                        findings.add(finding(fleet, snapshot, process, environment));
                    }
                }
                case Membership.Unknown _ -> {}
            }
        }
        return findings;
    }

    /** A device that the state does not describe may be attached to the environment. */
    private static boolean holdsOnlyOthers(GpuProcess process, Environment environment, Map<Integer, Device> devices) {
        return process.devices().stream().allMatch(index -> {
            var device = devices.get(index);
            return device != null && !device.isAttachedTo(environment.eid());
        });
    }

    private static Finding finding(
            Fleet fleet, Snapshot snapshot, GpuProcess process, @Nullable Environment environment) {
        var message = Messages.on(fleet, snapshot.host())
                + "Process %d holds GPU(s) %s without being listed, and is in no environment that they are attached to"
                        .formatted(process.pid(), Messages.list(process.devices()));
        return Finding.ofProcess(
                DEFINITION,
                snapshot,
                process,
                message,
                environment == null ? null : environment.user().orElse(null),
                environment == null ? null : environment.eid(),
                process.devices());
    }
}
