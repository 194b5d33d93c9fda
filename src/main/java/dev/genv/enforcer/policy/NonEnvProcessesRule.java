package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.HostRule;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Violated by a GPU process that is in no environment. */
final class NonEnvProcessesRule implements HostRule {
    private static final RuleDefinition DEFINITION = new RuleDefinition(
            "non-env-processes",
            "Process outside all environments",
            "Run `genv activate --gpus 1` in a shell, then start the job in that shell. Without `--gpus` the"
                    + " environment has no GPU.",
            RuleMode.OFF,
            RuleScope.HOST,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES),
            List.of(new RuleSetting("non-env-processes", RuleSetting.Kind.MODE, """
                Processes that use a GPU and belong to no environment. `off` ignores them, `audit` reports them, `enforce` also \
                terminates them. `false` and `true` mean `off` and `enforce`, here and for the other rules. Use `audit` first.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public List<RuleFinding> check(Fleet fleet, Snapshot snapshot) {
        var findings = new ArrayList<RuleFinding>();
        for (var process : snapshot.processes()) {
            if (process.membership() instanceof Membership.Outside) {
                var message = Messages.on(fleet, snapshot.host())
                        + "Process %d is not running in a GPU environment".formatted(process.pid());
                findings.add(RuleFinding.ofProcess(
                        DEFINITION, snapshot, process, message, process.account(), null, process.devices()));
            }
        }
        return findings;
    }
}
