package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.Fleet;
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
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Creates and formats plans. */
public final class Plans {
    private Plans() {}

    /** Returns the plan with these rules enforced, all others off, and without limits. */
    public static Plan enforce(Fleet fleet, RuleDefinition... rules) {
        return enforcingPolicy(Limits.NONE, rules).check(fleet, Set.of());
    }

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
        return actions(plan, Action.Terminate.class)
                .map(terminate -> terminate.process().pid())
                .toList();
    }

    /** Returns the detachments, as {@code host/device eid}, in the order of the plan. */
    public static List<String> detachments(Plan plan) {
        return actions(plan, Action.Detach.class)
                .map(detach -> detach.host() + "/" + detach.device() + " "
                        + detach.environment().eid())
                .toList();
    }

    private static <T extends Action> Stream<T> actions(Plan plan, Class<T> kind) {
        return plan.actions().stream()
                .map(planned -> planned.action())
                .filter(kind::isInstance)
                .map(kind::cast);
    }
}
