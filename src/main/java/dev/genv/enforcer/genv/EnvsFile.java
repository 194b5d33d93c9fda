package dev.genv.enforcer.genv;

import static java.util.Objects.requireNonNullElse;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.genv.Entries.Fields;
import dev.genv.enforcer.genv.Entries.OptionalFields;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.model.Problem;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The content of {@code envs.json}. An invalid entry is dropped, an invalid field is ignored, and everything else counts. An
 * environment with a readable id always counts, so that an invalid entry protects no process.
 *
 * @param environments all environments, inactive ones too
 */
public record EnvsFile(List<Environment> environments, List<Problem> problems) {
    public static final EnvsFile EMPTY = new EnvsFile(List.of(), List.of());
    private static final Ownership SEVERAL =
            new Ownership("it is recorded for different users or uids", false, Set.of());

    /**
     * Parses the file.
     *
     * @throws UnreadableException if it has another form than that of genv since 0.9.0
     */
    public static EnvsFile of(JsonNode root) throws UnreadableException {
        var environments = new ArrayList<Environment>();
        var problems = new ArrayList<Problem>();
        for (var entry : Entries.of(root, "envs")) {
            try {
                var fields = new Fields(entry);
                var eid = fields.id("eid");
                environments.add(environment(eid, fields, new OptionalFields("environment " + eid, problems)));
            } catch (UnreadableException e) {
                Entries.report(problems, "an environment", e);
            }
        }
        var merged = Entries.mergeSame(
                environments.stream(),
                Environment::eid,
                EnvsFile::merged,
                eid -> Entries.report(problems, "environment " + eid, "is there more than once"));
        return new EnvsFile(merged, List.copyOf(problems));
    }

    /** Returns what this file or another reading of it contains. */
    public EnvsFile union(EnvsFile other) {
        var all = Stream.concat(environments.stream(), other.environments.stream());
        return new EnvsFile(
                Entries.mergeSame(all, Environment::eid, EnvsFile::merged, _ -> {}),
                Entries.both(problems, other.problems));
    }

    private static Environment environment(String eid, Fields fields, OptionalFields lenient) {
        return new Environment(
                eid,
                lenient.read(() -> fields.uid("uid")),
                lenient.read(() -> fields.textOrNull("username")),
                requireNonNullElse(lenient.read(() -> fields.textOrNull("creation")), ""),
                config(fields.child("config"), lenient),
                lenient.readEach(
                        () -> fields.array("pids"),
                        node -> node.isIntegralNumber() && node.canConvertToInt() ? node.intValue() : null,
                        "has a pid that is not a whole number"),
                lenient.readEach(
                        () -> fields.arrayOrNone("kernel_ids"),
                        JsonNode::textValue,
                        "has a kernel id that is not text"));
    }

    /**
     * Merges all entries with the same id in the users' favour, so that a forged second entry harms no user: the environment is active
     * if one of them is, it has the largest capacity, and it counts in no quota if their owners differ.
     */
    private static Environment merged(List<Environment> same) {
        var first = same.getFirst();
        var owners = same.stream()
                .map(one -> new Owner(one.uid(), one.username()))
                .distinct()
                .toList();
        var owner = owners.size() == 1 ? owners.getFirst() : new Owner(null, null);
        return new Environment(
                first.eid(),
                owner.uid,
                owner.username,
                first.creation(),
                new Environment.Config(
                        first.config().name(), capacity(same), first.config().gpus()),
                same.stream().flatMap(one -> one.pids().stream()).distinct().toList(),
                same.stream()
                        .flatMap(one -> one.kernelIds().stream())
                        .distinct()
                        .toList(),
                owners.size() == 1
                                && same.stream()
                                        .noneMatch(one -> one.ownership().isDisputed())
                        ? Ownership.UNDISPUTED
                        : SEVERAL);
    }

    /** Returns the largest capacity; none if one entry has none. */
    private static @Nullable String capacity(List<Environment> same) {
        return same.stream().allMatch(one -> one.capacity().isPresent())
                ? Collections.max(
                                same, Comparator.comparing(one -> one.capacity().orElseThrow()))
                        .config()
                        .gpuMemory()
                : null;
    }

    private static Environment.Config config(JsonNode node, OptionalFields lenient) {
        if (!node.isObject() && !node.isNull() && !node.isMissingNode()) {
            lenient.report("has a config that is not an object");
        }
        return !node.isObject()
                ? new Environment.Config(null, null, null)
                : new Environment.Config(
                        lenient.read(() -> new Fields(node).textOrNull("name")),
                        lenient.read(() -> new Fields(node).textOrNull("gpu_memory")),
                        lenient.read(() -> new Fields(node).countOrNull("gpus")));
    }

    private record Owner(@Nullable Long uid, @Nullable String username) {}
}
