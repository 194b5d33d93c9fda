package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.api.error.ApiException;
import dev.genv.enforcer.format.GenvJson;
import dev.genv.enforcer.format.SnapshotJson;
import dev.genv.enforcer.format.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The body of a plan request. An error names the invalid part. */
final class PlanRequest {
    private static final Map<String, RuleName> RULES = Map.of(
            "non_env_processes", RuleName.NON_ENV_PROCESSES,
            "inactive_env_processes", RuleName.INACTIVE_ENV_PROCESSES,
            "env_devices", RuleName.ENV_DEVICES,
            "env_memory", RuleName.ENV_MEMORY,
            "env_owner", RuleName.ENV_OWNER);
    private static final String GENERAL = "max_devices_per_user";
    private static final String PER_USER = "max_devices_for_user";

    /** The longest DNS name. The response repeats it in every entry. */
    private static final int LONGEST_HOST = 253;

    /** The limit of one host. The time of some rules is proportional to devices times processes. */
    private static final int MAX_DEVICES = 256;

    private final JsonNode body;

    PlanRequest(InputStream json) {
        try {
            body = GenvJson.readFleet(json).orElseGet(JsonNodeFactory.instance::objectNode);
        } catch (UnreadableException e) {
            throw ApiException.badRequest("the body " + e.getMessage());
        }
        checkNames(body, Set.of("policy", "snapshots"), "the body");
    }

    /** Returns the policy of the body; empty if there is none. */
    Optional<Policy> policy() {
        if (!body.has("policy")) {
            return Optional.empty();
        }
        var policy = body.path("policy");
        var names = new ArrayList<>(RULES.keySet());
        names.addAll(List.of(GENERAL, PER_USER));
        checkNames(policy, Set.copyOf(names), "policy");
        var modes = new EnumMap<RuleName, RuleMode>(RuleName.class);
        RULES.forEach((name, rule) -> modes.put(rule, flag(policy, name) ? RuleMode.ENFORCE : RuleMode.OFF));
        var limits = new DeviceLimits(limit(policy.path(GENERAL), "policy." + GENERAL), perUser(policy.path(PER_USER)));
        modes.put(RuleName.MAX_DEVICES_PER_USER, RuleMode.ENFORCE); // without a limit the rule finds nothing
        return Optional.of(new Policy(modes, limits));
    }

    /** Returns the snapshots of the body; empty if there are none. */
    Optional<List<Snapshot>> snapshots() {
        if (!body.has("snapshots")) {
            return Optional.empty();
        }
        var hosts = body.path("snapshots");
        checkObject(hosts, "snapshots");
        var snapshots = new ArrayList<Snapshot>();
        for (var host : hosts.properties()) {
            if (host.getKey().length() > LONGEST_HOST) {
                throw ApiException.badRequest(
                        "snapshots names a host with more than %d characters".formatted(LONGEST_HOST));
            }
            try {
                var snapshot = SnapshotJson.read(host.getKey(), host.getValue());
                if (snapshot.devices().size() > MAX_DEVICES) {
                    throw new UnreadableException("has more than %d devices".formatted(MAX_DEVICES));
                }
                snapshots.add(snapshot);
            } catch (UnreadableException e) {
                throw ApiException.badRequest("snapshots.%s %s".formatted(host.getKey(), e.getMessage()));
            }
        }
        return Optional.of(snapshots);
    }

    private static boolean flag(JsonNode policy, String name) {
        var node = policy.path(name);
        if (!node.isMissingNode() && !node.isBoolean()) {
            throw ApiException.badRequest("policy.%s is neither true nor false".formatted(name));
        }
        return node.booleanValue();
    }

    private static Map<String, Integer> perUser(JsonNode node) {
        var limits = new HashMap<String, Integer>();
        if (!node.isMissingNode() && !node.isNull()) {
            checkObject(node, "policy." + PER_USER);
            for (var user : node.properties()) {
                var limit = limit(user.getValue(), "policy.%s.%s".formatted(PER_USER, user.getKey()));
                if (limit != null) {
                    limits.put(user.getKey(), limit);
                }
            }
        }
        return limits;
    }

    private static @Nullable Integer limit(JsonNode node, String name) {
        if (node.isMissingNode() || node.isNull()) {
            return null;
        }
        if (!node.isIntegralNumber() || !node.canConvertToInt() || node.intValue() < 0) {
            throw ApiException.badRequest(name + " is not a whole number from 0");
        }
        return node.intValue();
    }

    private static void checkNames(JsonNode node, Set<String> known, String what) {
        checkObject(node, what);
        for (var property : node.properties()) {
            if (!known.contains(property.getKey())) {
                throw ApiException.badRequest("%s has a field \"%s\" that is not known; these are: %s"
                        .formatted(
                                what,
                                property.getKey(),
                                String.join(", ", known.stream().sorted().toList())));
            }
        }
    }

    private static void checkObject(JsonNode node, String what) {
        if (!node.isObject()) {
            throw ApiException.badRequest(what + " is not an object");
        }
    }
}
