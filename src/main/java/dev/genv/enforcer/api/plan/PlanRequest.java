package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.SnapshotJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import dev.genv.enforcer.policy.PolicyValues.Value;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.policyfile.PolicyReader.InvalidPolicyException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The body of a plan request. An error names the invalid part. */
final class PlanRequest {
    /** The longest DNS name. The response repeats it in every entry. */
    private static final int LONGEST_HOST = 253;

    /** The limit of one host. The time of some rules is proportional to devices times processes. */
    private static final int MAX_DEVICES = 256;

    /** In bytes. A policy takes much memory while it is read. */
    private static final int LARGEST_POLICY = 32 << 10;

    private static final PolicyValues LIMITS_ENFORCED = limitsEnforced();

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

    /** Returns the policy at this time, for which the same counts as idle as for the running one; empty if the body has none. */
    Optional<Policy> policy(PolicyInForce running, Instant now) {
        return body.has("policy") ? Optional.of(readPolicy(body.path("policy"), running, now)) : Optional.empty();
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

    /** Reads a policy that stands alone: a rule that it does not name is off, but for limits. JSON is YAML. */
    private static Policy readPolicy(JsonNode policy, PolicyInForce running, Instant now) {
        var json = policy.toString().getBytes(StandardCharsets.UTF_8);
        if (json.length > LARGEST_POLICY) {
            throw new ApiException(413, "policy is longer than %d bytes".formatted(LARGEST_POLICY));
        }
        try {
            var values = PolicyReader.read(json, running.document().zone()).at(now, LIMITS_ENFORCED);
            for (var kind : List.of(Kind.EXEMPT_USER, Kind.EXEMPT_CGROUP)) {
                var others = new ArrayList<>(values.names(kind));
                others.removeAll(running.values().names(kind));
                if (!others.isEmpty()) {
                    throw new ApiException(
                            400,
                            "policy.exempt has %s, whom the running policy does not exempt; the snapshots show who is exempt"
                                    .formatted(SafeText.escape(others.getFirst())));
                }
            }
            return values.policy(running.policy().idle());
        } catch (InvalidPolicyException e) {
            throw new ApiException(
                    400,
                    e.errors().stream()
                            .map(error -> "policy" + (error.path().isEmpty() ? ": " : ".") + error.withoutPosition())
                            .collect(Collectors.joining("; ")));
        }
    }

    private static PolicyValues limitsEnforced() {
        var modes = new TreeMap<PolicyKey, Sourced>();
        Rules.definitions().stream()
                .filter(RuleDefinition::hasLimit)
                .forEach(rule -> modes.put(
                        new PolicyKey(Kind.MODE, rule.name(), ""), new Sourced(new Value.Mode(RuleMode.ENFORCE), "")));
        return new PolicyValues(modes);
    }
}
