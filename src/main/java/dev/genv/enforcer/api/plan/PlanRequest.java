package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.api.error.ApiException;
import dev.genv.enforcer.format.SnapshotJson;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

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
            throw ApiException.contentTooLarge("the body " + e.getMessage() + "; request fewer hosts at once");
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
        return Optional.of(PlanPolicy.read(body.path("policy")));
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

    static void checkNames(JsonNode node, Set<String> known, String what) {
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

    static void checkObject(JsonNode node, String what) {
        if (!node.isObject()) {
            throw ApiException.badRequest(what + " is not an object");
        }
    }
}
