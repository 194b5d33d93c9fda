package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of a plan request.
 *
 * @param actions the actions that would be executed, without those of rules in audit mode
 */
public record PlanView(List<Found> violations, List<Planned> actions) {

    /** A violation that is not recorded. */
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
                    violation.rule().name(),
                    violation.host(),
                    violation.message(),
                    violation.user(),
                    violation.environment(),
                    violation.devices(),
                    ProcessView.of(violation.processes()));
        }
    }

    /** An action; only the fields of its type are present. */
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
            var rules = planned.rules().stream().map(RuleDefinition::name).toList();
            return switch (planned.action()) {
                case Action.Terminate(var host, var process, var _) ->
                    new Planned("terminate", host, process.pid(), process.devices(), null, null, rules);
                case Action.Detach(var host, var environment, var device, var attachment) ->
                    new Planned("detach", host, null, null, environment.eid(), device, rules);
            };
        }
    }

    public static PlanView of(Plan plan) {
        return new PlanView(
                plan.violations().stream().map(Found::of).toList(),
                plan.actions().stream()
                        .filter(PlannedAction::enforced)
                        .map(Planned::of)
                        .toList());
    }
}
