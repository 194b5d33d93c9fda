package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Part;
import java.util.ArrayList;

/** Broken by a GPU process that names an environment which is not alive. */
final class InactiveEnvProcesses implements Rule {

    @Override
    public RuleName name() {
        return RuleName.INACTIVE_ENV_PROCESSES;
    }

    @Override
    public Verdict check(Fleet fleet, Ending ending) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : fleet.snapshots()) {
            if (!snapshot.knows(Part.PROCESSES, Part.ENVIRONMENTS)) {
                continue;
            }
            var environments = snapshot.environmentsById();
            for (var process : snapshot.processes()) {
                if (process.membership() instanceof Membership.InEnvironment(var eid)
                        && !environments.containsKey(eid)) {
                    var message = Words.on(fleet, snapshot.host())
                            + "Process %d names environment %s, which is not active"
                                    .formatted(process.pid(), Words.safe(eid));
                    findings.add(Finding.ofProcess(name(), snapshot, process, message, null, eid, process.devices()));
                }
            }
        }
        return new Verdict(findings);
    }
}
