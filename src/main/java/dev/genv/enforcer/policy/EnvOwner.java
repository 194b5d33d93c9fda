package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Snapshot;
import java.util.ArrayList;
import java.util.List;

/**
 * Broken by a process that names the environment of another user, and by an environment whose owner is disputed. Nothing is
 * ever done about it: half of what it compares can be forged.
 */
final class EnvOwner implements Rule {

    @Override
    public RuleName name() {
        return RuleName.ENV_OWNER;
    }

    @Override
    public Verdict check(Fleet fleet, Ending ending) {
        var findings = new ArrayList<Finding>();
        for (var snapshot : fleet.snapshots()) {
            if (!snapshot.knows(Part.ENVIRONMENTS)) {
                continue;
            }
            var processes = snapshot.processesByEnvironment();
            for (var environment : snapshot.environments()) {
                if (environment.ownership().isDisputed()) {
                    findings.add(disputed(fleet, snapshot, environment));
                }
                processes.getOrDefault(environment.eid(), List.of()).stream()
                        .filter(process -> isStranger(process, environment))
                        .map(process -> stranger(fleet, snapshot, environment, process))
                        .forEach(findings::add);
            }
        }
        return new Verdict(findings);
    }

    private static boolean isStranger(GpuProcess process, Environment environment) {
        var uid = process.uid();
        return uid != null && uid != 0 && environment.uid() != null && !uid.equals(environment.uid());
    }

    private Finding stranger(Fleet fleet, Snapshot snapshot, Environment environment, GpuProcess process) {
        var message = Words.on(fleet, snapshot.host())
                + "Process %d of uid %d names environment %s of uid %d"
                        .formatted(process.pid(), process.uid(), Words.safe(environment.eid()), environment.uid());
        var finding = Finding.ofProcess(
                name(),
                snapshot,
                process,
                message,
                environment.user().orElse(null),
                environment.eid(),
                process.devices());
        return new Finding(finding.violation(), List.of());
    }

    private Finding disputed(Fleet fleet, Snapshot snapshot, Environment environment) {
        var message = Words.on(fleet, snapshot.host())
                + "Environment %s is disputed: %s"
                        .formatted(
                                Words.safe(environment.eid()),
                                Words.safe(
                                        String.valueOf(environment.ownership().dispute())));
        return new Finding(
                new Violation(
                        name(),
                        snapshot.host(),
                        "environment " + environment.eid(),
                        message,
                        environment.user().orElse(null),
                        environment.eid(),
                        List.of(),
                        List.of()),
                List.of());
    }
}
