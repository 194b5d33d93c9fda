package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A violation and what its rule wants done about it. */
record Finding(Violation violation, List<Action> actions) {

    /** One process breaks a rule by itself, and is to be ended for it. */
    static Finding ofProcess(
            RuleName rule,
            Snapshot snapshot,
            GpuProcess process,
            String message,
            @Nullable String user,
            @Nullable String environment,
            List<Integer> devices) {
        var host = snapshot.host();
        var subject = "process " + process.pid() + " " + process.id().startTime();
        var violation = new Violation(rule, host, subject, message, user, environment, devices, List.of(process));
        return new Finding(violation, List.of(new Action.Terminate(host, process)));
    }
}
