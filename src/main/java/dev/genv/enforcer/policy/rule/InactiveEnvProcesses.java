package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Messages;
import java.util.ArrayList;

/** Violated by a GPU process that names an environment which is not active. */
public final class InactiveEnvProcesses implements Rule {

    @Override
    public RuleDefinition name() {
        return RuleDefinition.INACTIVE_ENV_PROCESSES;
    }

    @Override
    public RuleResult check(Fleet fleet, ExpectedExits ending) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : fleet.snapshots()) {
            if (!snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS)) {
                continue;
            }
            var environments = snapshot.environmentsById();
            for (var process : snapshot.processes()) {
                if (process.membership() instanceof Membership.InEnvironment(var eid)
                        && !environments.containsKey(eid)) {
                    var message = Messages.on(fleet, snapshot.host())
                            + "Process %d names environment %s, which is not active"
                                    .formatted(process.pid(), SafeText.escape(eid));
                    findings.add(Finding.ofProcess(name(), snapshot, process, message, null, eid, process.devices()));
                }
            }
        }
        return new RuleResult(findings);
    }
}
