package dev.genv.enforcer.api;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Violation;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What would happen.
 *
 * @param actions what would be done: not what a rule that only audits would want
 */
public record PlanView(List<Found> violations, List<Planned> actions) {

    /** A violation that nobody has written down. */
    public record Found(
            String rule,
            @Nullable String host,
            String message,
            @Nullable String user,
            @Nullable String environment,
            List<Integer> devices,
            List<ProcessView> processes) {
        static Found of(Violation violation) {
            return new Found(
                    violation.rule().label(),
                    violation.host(),
                    violation.message(),
                    violation.user(),
                    violation.environment(),
                    violation.devices(),
                    ProcessView.of(violation.processes()));
        }
    }

    /** An action; of the targets only that of its type is there. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Planned(
            String type,
            String host,
            @Nullable Integer pid,
            @Nullable List<Integer> devices,
            @Nullable String environment,
            @Nullable Integer device,
            List<String> rules) {
        static Planned of(PlannedAction planned) {
            var rules = planned.rules().stream().map(RuleName::label).toList();
            return switch (planned.action()) {
                case Action.Terminate(var host, var process, var _) ->
                    new Planned("terminate", host, process.pid(), process.devices(), null, null, rules);
                case Action.Detach(var host, var environment, var device, var attachment) ->
                    new Planned("detach", host, null, null, environment.eid(), device, rules);
            };
        }
    }

    static PlanView of(Plan plan) {
        return new PlanView(
                plan.violations().stream().map(Found::of).toList(),
                plan.actions().stream()
                        .filter(PlannedAction::enforced)
                        .map(Planned::of)
                        .toList());
    }
}
