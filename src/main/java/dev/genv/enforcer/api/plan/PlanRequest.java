package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.SnapshotJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.Rule.RuleSetting.Kind;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The body of a plan request. An error names the invalid part. */
final class PlanRequest {
    /** The longest DNS name. The response repeats it in every entry. */
    private static final int LONGEST_HOST = 253;

    /** The limit of one host. The time of some rules is proportional to devices times processes. */
    private static final int MAX_DEVICES = 256;

    private final JsonNode body;

    /** Reads a body, whose tree takes at most this number of bytes. */
    PlanRequest(InputStream json, long maxBytes) {
        try {
            body = GenvJson.readUpTo(maxBytes, json).orElseGet(JsonNodeFactory.instance::objectNode);
        } catch (UnreadableException.TooLarge e) {
            throw new ApiException(413, "the body " + e.getMessage() + "; " + PlanResource.ASK_LESS_FLEET);
        } catch (UnreadableException e) {
            throw new ApiException(400, "the body " + e.getMessage());
        }
        checkNames(body, Set.of("policy", "snapshots"), "the body");
    }

    /** Returns the policy, for which the same counts as idle as for the running one; empty if the body has none. */
    Optional<Policy> policy(IdleLimits idle) {
        return body.has("policy") ? Optional.of(readPolicy(body.path("policy"), idle)) : Optional.empty();
    }

    Optional<List<Snapshot>> snapshots() {
        if (!body.has("snapshots")) {
            return Optional.empty();
        }
        var hosts = body.path("snapshots");
        checkObject(hosts, "snapshots");
        var snapshots = new ArrayList<Snapshot>();
        for (var host : hosts.properties()) {
            if (host.getKey().length() > LONGEST_HOST) {
                throw new ApiException(
                        400, "snapshots names a host with more than %d characters".formatted(LONGEST_HOST));
            }
            try {
                var snapshot = SnapshotJson.read(host.getKey(), host.getValue());
                if (snapshot.devices().size() > MAX_DEVICES) {
                    throw new UnreadableException("has more than %d devices".formatted(MAX_DEVICES));
                }
                snapshots.add(snapshot);
            } catch (UnreadableException e) {
                throw new ApiException(400, "snapshots.%s %s".formatted(host.getKey(), e.getMessage()));
            }
        }
        return Optional.of(snapshots);
    }

    private static void checkNames(JsonNode node, Set<String> known, String what) {
        checkObject(node, what);
        for (var property : node.properties()) {
            if (!known.contains(property.getKey())) {
                throw new ApiException(
                        400,
                        "%s has a field \"%s\" that is not known; these are: %s"
                                .formatted(what, property.getKey(), String.join(", ", new TreeSet<>(known))));
            }
        }
    }

    private static void checkObject(JsonNode node, String what) {
        if (!node.isObject()) {
            throw new ApiException(400, what + " is not an object");
        }
    }

    /**
     * Reads a policy that stands alone: a rule that it does not name is off. A rule has one field, which is true or false, or a field
     * for each of its limits.
     */
    private static Policy readPolicy(JsonNode policy, IdleLimits idle) {
        var names = Rules.definitions().stream()
                .flatMap(PlanRequest::fields)
                .map(PlanRequest::name)
                .collect(Collectors.toUnmodifiableSet());
        checkNames(policy, names, "policy");
        var configs = new HashMap<RuleDefinition, RuleConfig>();
        Rules.definitions().forEach(rule -> configs.put(rule, config(policy, rule)));
        return new Policy(configs, idle);
    }

    private static RuleConfig config(JsonNode policy, RuleDefinition rule) {
        if (!rule.hasLimit()) {
            return RuleConfig.of(flag(policy, name(rule.modeSetting())) ? RuleMode.ENFORCE : RuleMode.OFF);
        }
        Integer limit = null;
        Map<String, Integer> ofGroups = Map.of();
        Map<String, Integer> ofUsers = Map.of();
        for (var field : fields(rule).toList()) {
            var node = policy.path(name(field));
            var path = "policy." + name(field);
            if (field.kind().isLimit()) {
                limit = limit(node, path);
            } else if (field.kind().isOfGroups()) {
                ofGroups = namedLimits(node, path);
            } else {
                ofUsers = namedLimits(node, path);
            }
        }
        // Without a limit the rule finds nothing.
        return new RuleConfig(RuleMode.ENFORCE, new Limits(limit, ofGroups, ofUsers));
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
            throw new ApiException(400, "policy.%s is neither true nor false".formatted(name));
        }
        return node.booleanValue();
    }

    private static Map<String, Integer> namedLimits(JsonNode node, String path) {
        var limits = new HashMap<String, Integer>();
        if (!node.isMissingNode() && !node.isNull()) {
            checkObject(node, path);
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
            throw new ApiException(400, path + " is not a whole number from 0");
        }
        return node.intValue();
    }
}
