package dev.genv.enforcer.observation.workload;

import dev.genv.enforcer.facts.PodFacts;
import dev.genv.enforcer.model.workload.Workload.Pod;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The names of pods and containers in the names of the kubelet's log files. None of them can contain an underscore.
 *
 * @param pods by uid
 * @param containers by id
 */
record PodNames(Map<String, PodName> pods, Map<String, ContainerName> containers) {
    private static final String LABEL = "[a-z0-9-]{1,63}";
    private static final String NAME = "[a-z0-9.-]{1,253}";
    private static final Pattern POD =
            Pattern.compile("(?<namespace>" + LABEL + ")_(?<pod>" + NAME + ")_(?<uid>[0-9a-f-]{32,36})");
    private static final Pattern CONTAINER = Pattern.compile(
            "(?<pod>" + NAME + ")_(?<namespace>" + LABEL + ")_(?<container>" + LABEL + ")-(?<id>[0-9a-f]{64})\\.log");

    /** A pod. */
    record PodName(String namespace, String name) {}

    /** A container. */
    record ContainerName(PodName pod, String name) {}

    static PodNames of(PodFacts facts) {
        return new PodNames(
                parse(facts.pods(), POD, "uid", PodNames::pod),
                parse(
                        facts.containers(),
                        CONTAINER,
                        "id",
                        match -> new ContainerName(pod(match), match.group("container"))));
    }

    /**
     * Returns a pod with its names.
     *
     * @param container the id of the container in the pod; null if unknown
     */
    Pod name(String uid, @Nullable String container) {
        var named = containers.get(container);
        var pod = pods.containsKey(uid) ? pods.get(uid) : named == null ? null : named.pod;
        return pod == null
                ? new Pod(uid, null, null, null)
                : new Pod(uid, pod.namespace, pod.name, named != null && named.pod.equals(pod) ? named.name : null);
    }

    private static PodName pod(MatchResult match) {
        return new PodName(match.group("namespace"), match.group("pod"));
    }

    private static <T> Map<String, T> parse(
            List<String> names, Pattern form, String key, Function<MatchResult, T> value) {
        var found = new HashMap<String, T>();
        for (var name : names) {
            var match = form.matcher(name);
            if (match.matches()) {
                found.put(match.group(key), value.apply(match.toMatchResult()));
            }
        }
        return found;
    }
}
