package dev.genv.enforcer.api.openapi;

import dev.genv.enforcer.enforcement.action.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.model.problem.ProblemCode.ProblemConsequence;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/** The fields and parameters that have one of a few values. */
final class KnownValues {
    private static final List<String> RULES =
            Rules.definitions().stream().map(RuleDefinition::name).toList();

    /** By the schema and the field, or by the parameter. */
    private static final Map<String, List<String>> ALL = Map.ofEntries(
            Map.entry("parameter.format", List.of("json", "csv")),
            Map.entry("parameter.rule", RULES),
            Map.entry("parameter.status", List.of("active", "resolved")),
            Map.entry("ActionView.outcome", labels(Outcome.values(), Outcome::label)),
            Map.entry("ActionView.type", List.of("terminate", "detach")),
            Map.entry("ReplayedActionView.type", List.of("terminate", "detach")),
            Map.entry("Found.rule", RULES),
            Map.entry("GapView.reason", List.of("not_in_memory", "other_run", "too_large")),
            Map.entry("HostView.status", List.of("ok", "degraded", "unreachable")),
            Map.entry("MembershipView.by", labels(MembershipSource.values(), MembershipSource::label)),
            Map.entry("NextView.because", labels(WaitReason.values(), WaitReason::label)),
            Map.entry("NextView.type", List.of("terminate", "detach")),
            Map.entry("Planned.type", List.of("terminate", "detach")),
            Map.entry("PolicyView.mode", List.of("enforce", "audit")),
            Map.entry("ProblemView.code", labels(ProblemCode.values(), ProblemCode::label)),
            Map.entry("ProblemView.consequence", labels(ProblemConsequence.values(), ProblemConsequence::label)),
            Map.entry("Rule.mode", List.of("off", "audit", "enforce")),
            Map.entry("Rule.name", RULES),
            Map.entry("RuleCounts.rule", RULES),
            Map.entry("TimelineEntry.rule", RULES),
            Map.entry("ViolationView.mode", List.of("enforce", "audit")),
            Map.entry("ViolationView.rule", RULES),
            Map.entry("ViolationView.status", List.of("active", "resolved")));

    private KnownValues() {}

    /** Returns the values; empty if there are others. */
    static List<Object> of(String key) {
        return List.copyOf(ALL.getOrDefault(key, List.of()));
    }

    private static <T> List<String> labels(T[] values, Function<T, String> label) {
        return Stream.of(values).map(label).toList();
    }
}
