package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.HostRule;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Violated by a GPU process that names an environment which is not active. */
final class InactiveEnvProcessesRule implements HostRule {
    static final RuleDefinition DEFINITION = new RuleDefinition(
            "inactive-env-processes",
            "Process of an environment that is not active",
            """
                An environment ends with the shell that activated it, for example at logout, also if the job runs under nohup. \
                In a shell without an environment, start tmux, run `genv activate --gpus 1` inside tmux, then start the job there.\
                """,
            RuleMode.OFF,
            RuleScope.HOST,
            RuleBasis.LISTED_PROCESSES,
            Set.of(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS),
            List.of(new RuleSetting("inactive-env-processes", RuleSetting.Kind.MODE, """
                Processes that use a GPU and name an environment that is not active. `enforce` terminates them. Use `audit` \
                first: a `nohup` job whose shell has exited is such a process.\
                """)));

    @Override
    public RuleDefinition definition() {
        return DEFINITION;
    }

    @Override
    public List<RuleFinding> check(Fleet fleet, Snapshot snapshot) {
        var findings = new ArrayList<RuleFinding>();
        var environments = snapshot.environmentsById();
        for (var process : snapshot.processes()) {
            if (process.membership() instanceof Membership.InEnvironment(var eid) && !environments.containsKey(eid)) {
                var message = Messages.on(fleet, snapshot.host())
                        + "Process %d names environment %s, which is not active"
                                .formatted(process.pid(), SafeText.escape(eid));
                findings.add(RuleFinding.ofProcess(
                        DEFINITION, snapshot, process, message, process.account(), eid, process.devices()));
            }
        }
        return findings;
    }
}
