package dev.genv.enforcer.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What {@code envs.json} says. An entry that cannot be read costs itself and nothing else.
 *
 * @param environments all of them, dead ones too
 * @param unreadable the ids of entries that could not be read: who names one of these may well be in the right
 */
public record EnvsFile(List<Environment> environments, Set<String> unreadable, List<Problem> problems) {
    public static final EnvsFile EMPTY = new EnvsFile(List.of(), Set.of(), List.of());

    /**
     * Reads the file's present form or the one from before genv 0.9.0.
     *
     * @throws UnreadableException where the whole is of no shape that genv ever wrote
     */
    public static EnvsFile of(JsonNode root) throws UnreadableException {
        var byId = new LinkedHashMap<String, Environment>();
        var unreadable = new TreeSet<String>();
        var problems = new ArrayList<Problem>();
        for (var entry : Entries.of(root, "envs", "eid")) {
            try {
                var environment = environment(new Fields(entry));
                if (byId.put(environment.eid(), environment) != null) {
                    unreadable.add(environment.eid());
                    Entries.report(
                            problems, Entries.problem("environment " + environment.eid(), "is there more than once"));
                }
            } catch (UnreadableException e) {
                var eid = entry.path("eid");
                var named = eid.isTextual() && !eid.textValue().isEmpty();
                if (named) {
                    unreadable.add(eid.textValue());
                }
                Entries.report(
                        problems, Entries.problem(named ? "environment " + eid.textValue() : "an environment", e));
            }
        }
        unreadable.forEach(byId::remove);
        return new EnvsFile(List.copyOf(byId.values()), Set.copyOf(unreadable), List.copyOf(problems));
    }

    /** The environments in the file's form. */
    public static JsonNode write(List<Environment> environments) {
        var array = JsonNodeFactory.instance.arrayNode();
        for (var environment : environments) {
            var config = JsonNodeFactory.instance
                    .objectNode()
                    .put("name", environment.config().name())
                    .put("gpu_memory", environment.config().gpuMemory())
                    .put("gpus", environment.config().gpus());
            var object = array.addObject()
                    .put("eid", environment.eid())
                    .put("uid", environment.uid())
                    .put("creation", environment.creation())
                    .put("username", environment.username());
            object.set("config", config);
            environment.pids().forEach(object.putArray("pids")::add);
            environment.kernelIds().forEach(object.putArray("kernel_ids")::add);
        }
        return JsonNodeFactory.instance.objectNode().set("envs", array);
    }

    /** The environments by id. */
    public Map<String, Environment> byId() {
        var byId = new LinkedHashMap<String, Environment>();
        environments.forEach(environment -> byId.put(environment.eid(), environment));
        return byId;
    }

    private static Environment environment(Fields fields) throws UnreadableException {
        var creation = fields.textOrNull("creation");
        return new Environment(
                fields.id("eid"),
                fields.uid("uid"),
                fields.textOrNull("username"),
                creation == null ? "" : creation,
                config(fields.child("config")),
                pids(fields.array("pids")),
                kernelIds(fields.arrayOrNone("kernel_ids")));
    }

    private static Environment.Config config(JsonNode node) throws UnreadableException {
        if (node.isNull() || node.isMissingNode()) {
            return new Environment.Config(null, null, null);
        }
        var fields = new Fields(node);
        return new Environment.Config(
                fields.textOrNull("name"), fields.textOrNull("gpu_memory"), fields.countOrNull("gpus"));
    }

    private static List<Integer> pids(List<JsonNode> nodes) throws UnreadableException {
        var pids = new ArrayList<Integer>();
        for (var node : nodes) {
            if (!node.isIntegralNumber() || !node.canConvertToInt()) {
                throw new UnreadableException("has a pid that is not a whole number");
            }
            pids.add(node.intValue());
        }
        return pids;
    }

    private static List<String> kernelIds(List<JsonNode> nodes) throws UnreadableException {
        var ids = new ArrayList<String>();
        for (var node : nodes) {
            if (!node.isTextual()) {
                throw new UnreadableException("has a kernel id that is not text");
            }
            ids.add(node.textValue());
        }
        return ids;
    }
}
