package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Messages;
import java.util.ArrayList;

/** Violated by a GPU process that is in no environment. */
public final class NonEnvProcesses implements Rule {

    @Override
    public RuleDefinition name() {
        return RuleDefinition.NON_ENV_PROCESSES;
    }

    @Override
    public RuleResult check(Fleet fleet, ExpectedExits ending) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : fleet.snapshots()) {
            if (!snapshot.has(SnapshotPart.PROCESSES)) {
                continue;
            }
            for (var process : snapshot.processes()) {
                if (process.membership() instanceof Membership.Outside) {
                    var message = Messages.on(fleet, snapshot.host())
                            + "Process %d is not running in a GPU environment".formatted(process.pid());
                    findings.add(Finding.ofProcess(name(), snapshot, process, message, null, null, process.devices()));
                }
            }
        }
        return new RuleResult(findings);
    }
}
