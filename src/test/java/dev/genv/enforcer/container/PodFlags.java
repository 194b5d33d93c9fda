package dev.genv.enforcer.container;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;

/**
 * The pod of the chart as arguments of {@code docker run}, which grant the same as a kubelet. A field without an argument is an error, so that no privilege is ignored.
 */
final class PodFlags {
    /** Fields that grant no privileges. */
    private static final Set<String> CLUSTER_FIELDS = Set.of(
            "serviceAccountName",
            "automountServiceAccountToken",
            "enableServiceLinks",
            "priorityClassName",
            "tolerations",
            "affinity",
            "containers",
            "initContainers", // it prepares a folder, for which the tests give their own
            "volumes");

    private static final Pattern DATABASE =
            Pattern.compile("-v [^/]+:/var/lib/genv-enforcer|--mount .*,target=/var/lib/genv-enforcer(-remote)?");

    private static final Set<String> FIELDS_WITHOUT_FLAG =
            Set.of("name", "image", "imagePullPolicy", "ports", "livenessProbe", "readinessProbe", "startupProbe");

    private final List<String> flags = new ArrayList<>(List.of("-d"));
    private final JsonNode volumes;
    private final Map<String, Path> folders;

    private PodFlags(JsonNode pod, Map<String, Path> folders) {
        volumes = pod.path("volumes");
        this.folders = folders;
    }

    /** Translates the fields of a pod.
     *
     * @param folders what stands in place of each volume, by its name
     */
    static Flags of(RenderedChart chart, Map<String, Path> folders) {
        var pod = new PodFlags(chart.pod(), folders);
        pod.addPod(chart.pod());
        pod.addContainer(chart.container());
        return new Flags(pod.flags);
    }

    private void addPod(JsonNode pod) {
        for (var field : pod.properties()) {
            var value = field.getValue();
            switch (field.getKey()) {
                case "hostPID" -> add(value.asBoolean(), "--pid=host");
                case "runtimeClassName" -> flags.add("--runtime=" + value.asText());
                case "terminationGracePeriodSeconds" -> flags.add("--stop-timeout=" + value.asText());
                case "securityContext" -> addSecurity(value);
                default -> ignore(CLUSTER_FIELDS, field.getKey());
            }
        }
    }

    private void addContainer(JsonNode container) {
        for (var field : container.properties()) {
            var value = field.getValue();
            switch (field.getKey()) {
                case "securityContext" -> addSecurity(value);
                case "env" -> value.forEach(this::addVariable);
                case "volumeMounts" -> value.forEach(this::addMount);
                case "resources" -> {
                    requireOnly(value.path("limits"), "memory");
                    var memory = value.at("/limits/memory").asText();
                    add(!memory.isEmpty(), "--memory=" + memory.replace("Mi", "m"));
                }
                default -> ignore(FIELDS_WITHOUT_FLAG, field.getKey());
            }
        }
    }

    private void addSecurity(JsonNode context) {
        for (var field : context.properties()) {
            var value = field.getValue();
            switch (field.getKey()) {
                case "privileged" -> add(value.asBoolean(), "--privileged");
                case "allowPrivilegeEscalation" -> add(!value.asBoolean(), "--security-opt", "no-new-privileges");
                case "readOnlyRootFilesystem" -> add(value.asBoolean(), "--read-only");
                case "runAsUser" -> {
                    var group = context.path("runAsGroup");
                    flags.addAll(List.of(
                            "--user", group.isMissingNode() ? value.asText() : value.asText() + ":" + group.asText()));
                }
                case "fsGroup" -> flags.addAll(List.of("--group-add", value.asText()));
                case "capabilities" -> {
                    value.path("drop").forEach(each -> flags.addAll(List.of("--cap-drop", each.asText())));
                    value.path("add").forEach(each -> flags.addAll(List.of("--cap-add", each.asText())));
                }
                case "appArmorProfile" ->
                    flags.addAll(List.of(
                            "--security-opt",
                            "apparmor=" + value.path("type").asText().toLowerCase(Locale.ROOT)));
                case "seccompProfile" -> {
                    if (!value.path("type").asText().equals("RuntimeDefault")) { // the default of Docker
                        throw new IllegalArgumentException("seccompProfile " + value);
                    }
                }
                default -> ignore(Set.of("runAsNonRoot", "runAsGroup"), field.getKey());
            }
        }
    }

    private void addVariable(JsonNode variable) {
        requireOnly(variable, "name", "value", "valueFrom");
        var source = variable.path("valueFrom");
        if (!source.isMissingNode()
                && !source.at("/fieldRef/fieldPath").asText().equals("spec.nodeName")) {
            throw new IllegalArgumentException("nobody knows what comes from " + source);
        }
        var value = source.isMissingNode() ? variable.path("value").asText() : "node-of-the-cluster";
        flags.addAll(List.of("-e", variable.path("name").asText() + "=" + value));
    }

    private void addMount(JsonNode mount) {
        requireOnly(mount, "name", "mountPath", "readOnly", "subPath");
        var name = mount.path("name").asText();
        var folder = folders.get(name);
        var volume = StreamSupport.stream(volumes.spliterator(), false)
                .filter(each -> each.path("name").asText().equals(name))
                .findFirst();
        if (folder == null || volume.isEmpty()) {
            throw new IllegalArgumentException("volume " + name);
        }
        var target = mount.path("mountPath").asText();
        var onHost = volume.get().at("/hostPath/path");
        if (name.equals("state") && !onHost.asText().equals(target)) {
            throw new IllegalArgumentException("of the node %s is mounted, at %s".formatted(onHost, target));
        }
        var place = "type=bind,source=%s,target=%s".formatted(folder, target);
        flags.addAll(List.of("--mount", mount.path("readOnly").asBoolean() ? place + ",readonly" : place));
    }

    private static void requireOnly(JsonNode node, String... fields) {
        node.fieldNames().forEachRemaining(field -> ignore(Set.of(fields), field));
    }

    private void add(boolean granted, String... words) {
        if (granted) {
            flags.addAll(List.of(words));
        }
    }

    private static void ignore(Set<String> known, String field) {
        if (!known.contains(field)) {
            throw new IllegalArgumentException("nobody knows what %s of the pod is for docker run".formatted(field));
        }
    }

    /** The privileges that these arguments grant or forbid. The folder of the database grants none. */
    static Set<String> privileges(Flags flags) {
        var privileges = new TreeSet<String>();
        var arguments = flags.arguments();
        for (var i = 0; i < arguments.size(); i++) {
            switch (arguments.get(i)) {
                case "--cap-add", "--cap-drop", "--security-opt", "--mount", "-v", "--device", "--user" ->
                    privileges.add(arguments.get(i) + " " + arguments.get(i + 1));
                case "--pid=host", "--read-only", "--privileged", "--network=host" -> privileges.add(arguments.get(i));
                default -> {}
            }
        }
        privileges.remove("--user 0"); // the default user of a container
        privileges.removeIf(each -> DATABASE.matcher(each).matches());
        return privileges;
    }
}
