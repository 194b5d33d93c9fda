package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.HostRule;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Violated by a process of an active environment on a device that is not attached to the environment. */
final class EnvDevicesRule implements HostRule {
    private static final RuleDefinition DEFINITION = new RuleDefinition(
            "env-devices",
            "GPU that is not attached to the environment",
            """
                Let the job use only GPUs that are attached to its environment. `genv attach --index N` in the shell of the environment \
                attaches GPU N if it is free. If you already hold as many GPUs as you may, first stop the job on a GPU M that you do not need, and \
                detach it with `genv detach --index M`: otherwise the service detaches GPU N again.\
                """,
            RuleMode.ENFORCE,
            RuleScope.HOST,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("env-devices", RuleSetting.Kind.MODE, """
                Processes that use a GPU that is not attached to their environment. `enforce` terminates them. Use `audit` \
                while users get used to it.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public List<RuleFinding> check(Fleet fleet, Snapshot snapshot) {
        var findings = new ArrayList<RuleFinding>();
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
                    findings.add(RuleFinding.ofProcess(
                            DEFINITION,
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
