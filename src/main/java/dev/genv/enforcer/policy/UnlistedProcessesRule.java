package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.HostRule;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Violated by a process that is not listed, and proves to use a device on which memory is unexplained, although the process is in no
 * active environment, or in one to which none of these devices is attached. No action follows, because the evidence is weak.
 */
final class UnlistedProcessesRule implements HostRule {
    private static final RuleDefinition DEFINITION = new RuleDefinition(
            "unlisted-processes",
            "GPU memory of a process that the GPU tool does not list",
            "Stop the job, or attach GPU N, if it is free, with `genv attach --index N` in the shell of its"
                    + " environment.",
            RuleMode.OFF,
            RuleScope.HOST,
            RuleBasis.UNLISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS),
            List.of(new RuleSetting("unlisted-processes", RuleSetting.Kind.REPORT_MODE, """
                Processes that the GPU tool does not list, which map the device file of a GPU whose memory the listed processes do \
                not explain, and which are in no environment that the GPU is attached to. The rule only reports. nvidia-smi does not \
                list graphics programs either.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public List<RuleFinding> check(Fleet fleet, Snapshot snapshot) {
        var findings = new ArrayList<RuleFinding>();
        var unlisted = snapshot.unlisted().holders();
        if (unlisted.isEmpty()) {
            return findings;
        }
        var environments = snapshot.environmentsById();
        var devices = snapshot.devicesByIndex();
        for (var holder : unlisted) {
            var used = holder.used();
            if (used.isEmpty()) {
                continue; // another process may have passed the file to it
            }
            switch (holder.process().membership()) {
                case Membership.Outside _ -> findings.add(finding(fleet, snapshot, holder, null, null));
                case Membership.InEnvironment(var eid) -> {
                    var environment = environments.get(eid);
                    if (environment == null || areOthers(used, environment, devices)) {
                        findings.add(finding(fleet, snapshot, holder, eid, environment));
                    }
                }
                case Membership.Unknown _ -> {}
            }
        }
        return findings;
    }

    /** A device that the state does not describe may be attached to the environment. */
    private static boolean areOthers(List<Integer> used, Environment environment, Map<Integer, Device> devices) {
        return used.stream().allMatch(index -> {
            var device = devices.get(index);
            return device != null && !device.isAttachedTo(environment.eid());
        });
    }

    private static RuleFinding finding(
            Fleet fleet,
            Snapshot snapshot,
            Unlisted.Holder holder,
            @Nullable String eid,
            @Nullable Environment environment) {
        var process = holder.process();
        var message = Messages.on(fleet, snapshot.host())
                + "Process %d uses GPU(s) %s without being listed, and is in no environment that they are attached to"
                        .formatted(process.pid(), Messages.list(holder.used()));
        var user = environment == null ? process.account() : environment.user().orElse(null);
        var subject = Violation.subjectOf(process.id());
        var violation = new Violation(
                DEFINITION, snapshot.host(), subject, message, user, eid, holder.used(), List.of(process));
        return new RuleFinding(violation, List.of());
    }
}
