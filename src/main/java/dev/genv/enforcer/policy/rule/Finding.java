package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A violation, and the actions that its rule asks for. */
public record Finding(Violation violation, List<Action> actions) {

    /** Creates the finding of a single process that is to be terminated. */
    static Finding ofProcess(
            RuleDefinition rule,
            Snapshot snapshot,
            GpuProcess process,
            String message,
            @Nullable String user,
            @Nullable String environment,
            List<Integer> devices) {
        var host = snapshot.host();
        var subject = Violation.subjectOf(process.id());
        var violation = new Violation(rule, host, subject, message, user, environment, devices, List.of(process));
        return new Finding(violation, List.of(new Action.Terminate(host, process)));
    }
}
