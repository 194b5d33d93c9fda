package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Part;
import java.util.ArrayList;

/** Broken by a GPU process that runs outside all environments. */
final class NonEnvProcesses implements Rule {

    @Override
    public RuleName name() {
        return RuleName.NON_ENV_PROCESSES;
    }

    @Override
    public Verdict check(Fleet fleet, Ending ending) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : fleet.snapshots()) {
            if (!snapshot.knows(Part.PROCESSES)) {
                continue;
            }
            for (var process : snapshot.processes()) {
                if (process.membership() instanceof Membership.Outside) {
                    var message = Words.on(fleet, snapshot.host())
                            + "Process %d is not running in a GPU environment".formatted(process.pid());
                    findings.add(Finding.ofProcess(name(), snapshot, process, message, null, null, process.devices()));
                }
            }
        }
        return new Verdict(findings);
    }
}
