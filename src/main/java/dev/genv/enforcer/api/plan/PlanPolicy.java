package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.api.error.ApiException;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.definition.RuleConfig;
import dev.genv.enforcer.policy.definition.RuleConfig.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.definition.RuleDefinition.RuleSetting;
import dev.genv.enforcer.policy.definition.RuleDefinition.RuleSetting.Kind;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The policy of a plan request. A rule has one field, which is true or false, or a field for each of its limits. */
final class PlanPolicy {
    private PlanPolicy() {}

    /** Reads a policy that stands alone: a rule that it does not name is off. */
    static Policy read(JsonNode policy) {
        var names = Rules.definitions().stream()
                .flatMap(PlanPolicy::fields)
                .map(PlanPolicy::name)
                .collect(Collectors.toUnmodifiableSet());
        PlanRequest.checkNames(policy, names, "policy");
        var configs = new HashMap<RuleDefinition, RuleConfig>();
        Rules.definitions().forEach(rule -> configs.put(rule, config(policy, rule)));
        return new Policy(configs);
    }

    private static RuleConfig config(JsonNode policy, RuleDefinition rule) {
        if (!rule.hasLimit()) {
            return RuleConfig.of(flag(policy, name(rule.modeSetting())) ? RuleMode.ENFORCE : RuleMode.OFF);
        }
        Integer limit = null;
        Map<String, Integer> limitsOfUsers = Map.of();
        for (var field : fields(rule).toList()) {
            var node = policy.path(name(field));
            var path = "policy." + name(field);
            if (field.kind() == Kind.LIMIT) {
                limit = limit(node, path);
            } else {
                limitsOfUsers = limitsOfUsers(node, path);
            }
        }
        // Without a limit the rule finds nothing.
        return new RuleConfig(RuleMode.ENFORCE, new Limits(limit, limitsOfUsers));
    }

    private static Stream<RuleSetting> fields(RuleDefinition rule) {
        return rule.settings().stream().filter(setting -> setting.kind() != Kind.MODE || !rule.hasLimit());
    }

    private static String name(RuleSetting setting) {
        return setting.name().replace('-', '_');
    }

    private static boolean flag(JsonNode policy, String name) {
        var node = policy.path(name);
        if (!node.isMissingNode() && !node.isBoolean()) {
            throw ApiException.badRequest("policy.%s is neither true nor false".formatted(name));
        }
        return node.booleanValue();
    }

    private static Map<String, Integer> limitsOfUsers(JsonNode node, String path) {
        var limits = new HashMap<String, Integer>();
        if (!node.isMissingNode() && !node.isNull()) {
            PlanRequest.checkObject(node, path);
            for (var user : node.properties()) {
                var limit = limit(user.getValue(), path + "." + user.getKey());
                if (limit != null) {
                    limits.put(user.getKey(), limit);
                }
            }
        }
        return limits;
    }

    private static @Nullable Integer limit(JsonNode node, String path) {
        if (node.isMissingNode() || node.isNull()) {
            return null;
        }
        if (!node.isIntegralNumber() || !node.canConvertToInt() || node.intValue() < 0) {
            throw ApiException.badRequest(path + " is not a whole number from 0");
        }
        return node.intValue();
    }
}
