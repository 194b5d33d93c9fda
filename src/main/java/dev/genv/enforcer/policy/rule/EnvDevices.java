package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Messages;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Violated by a process of an active environment on a device that is not attached to the environment. */
public final class EnvDevices implements Rule {

    @Override
    public RuleDefinition name() {
        return RuleDefinition.ENV_DEVICES;
    }

    @Override
    public RuleResult check(Fleet fleet, ExpectedExits ending) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : fleet.snapshots()) {
            if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
                findings.addAll(check(fleet, snapshot));
            }
        }
        return new RuleResult(findings);
    }

    private List<Finding> check(Fleet fleet, Snapshot snapshot) {
        var findings = new ArrayList<Finding>();
        var devices = snapshot.devicesByIndex();
        var processes = snapshot.processesByEnvironment();
        for (var environment : snapshot.environments()) {
            for (var process : processes.getOrDefault(environment.eid(), List.of())) {
                var strange = notAttached(process, environment, devices);
                if (!strange.isEmpty()) {
                    var message = Messages.on(fleet, snapshot.host())
                            + "Process %d from environment %s is using non-attached GPU(s) %s"
                                    .formatted(
                                            process.pid(), SafeText.escape(environment.eid()), Messages.list(strange));
                    findings.add(Finding.ofProcess(
                            name(),
                            snapshot,
                            process,
                            message,
                            environment.user().orElse(null),
                            environment.eid(),
                            strange));
                }
            }
        }
        return findings;
    }

    /** A device that the state does not describe is not checked, because its attachments are unknown. */
    private static List<Integer> notAttached(
            GpuProcess process, Environment environment, Map<Integer, Device> devices) {
        return process.devices().stream()
                .filter(index -> {
                    var device = devices.get(index);
                    return device != null && !device.isAttachedTo(environment.eid());
                })
                .toList();
    }
}
