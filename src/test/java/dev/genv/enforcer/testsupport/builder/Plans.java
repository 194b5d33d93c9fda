package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Messages;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Creates and formats plans. */
public final class Plans {
    private Plans() {}

    public static Policy enforcingPolicy(Limits limits, RuleDefinition... rules) {
        var modes = Stream.of(rules).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        return KnownRules.policy(Map.copyOf(modes), limits);
    }

    /** Returns the lines of the violations, and then of the actions. */
    public static List<String> lines(Plan plan) {
        return Stream.concat(
                        plan.violations().stream().map(Violation::message),
                        plan.actions().stream().map(planned -> Messages.of(planned.action())))
                .toList();
    }

    /** Returns the pids to terminate, in the order of the plan. */
    public static List<Integer> terminatedPids(Plan plan) {
        return plan.actions().stream()
                .map(planned -> planned.action())
                .filter(Action.Terminate.class::isInstance)
                .map(action -> ((Action.Terminate) action).process().pid())
                .toList();
    }
}
