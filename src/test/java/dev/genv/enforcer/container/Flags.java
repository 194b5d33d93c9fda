package dev.genv.enforcer.container;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The arguments of {@code docker run}, up to the image. */
final class Flags {
    /** The volume of the database in the README. */
    static final String DATABASE = "genv-enforcer:/var/lib/genv-enforcer";

    private static final Path STATE = Path.of("/var/tmp/genv");
    private static final Pattern COMMAND =
            Pattern.compile("(?m)^(?:ExecStart=/usr/bin/)?docker run ((?:.*\\\\\n)*.*)$");

    private final List<String> arguments;

    Flags(List<String> arguments) {
        this.arguments = new ArrayList<>(arguments);
    }

    /** The flags of the README, except for the folders, the ports and the name. The database is in an anonymous volume. */
    static Flags ofReadme(Path stateDirectory) throws IOException {
        return ofFile("README.md")
                .without("--name", "genv-enforcer")
                .without("-v", DATABASE)
                .replace(mount(STATE), mount(stateDirectory))
                .replace("127.0.0.1:8080:8080", "127.0.0.1::8080")
                .replace("127.0.0.1:9000:9000", "127.0.0.1::9000")
                .without("-e", "GENV_ENFORCER_MODE=audit");
    }

    /** The flags of the first {@code docker run} in a file. */
    static Flags ofFile(String file) throws IOException {
        var command = COMMAND.matcher(Files.readString(Path.of(file)));
        if (!command.find()) {
            throw new IOException(file + " has no docker run");
        }
        var words = List.of(command.group(1).replace("\\\n", " ").strip().split(" +"));
        return new Flags(words.subList(0, words.size() - 1)); // the last argument is the image
    }

    /** The mount of the state directory in the README. */
    static String mount(Path source) {
        return "type=bind,source=%s,target=%s".formatted(source, STATE);
    }

    /** The same flags with others after them. */
    Flags add(String... more) {
        arguments.addAll(List.of(more));
        return this;
    }

    /** Sets a setting, named without its prefix GENV_ENFORCER_. */
    Flags set(String name, Object value) {
        return add("-e", "GENV_ENFORCER_%s=%s".formatted(name, value));
    }

    /** The same flags without these consecutive ones. */
    Flags without(String... words) {
        arguments.subList(find(words), find(words) + words.length).clear();
        return this;
    }

    Flags replace(String word, String other) {
        arguments.set(find(word), other);
        return this;
    }

    private int find(String... words) {
        var at = Collections.indexOfSubList(arguments, List.of(words));
        if (at < 0) {
            throw new IllegalArgumentException(String.join(" ", words) + " is not among " + arguments);
        }
        return at;
    }

    List<String> arguments() {
        return List.copyOf(arguments);
    }

    /**
     * The pod of the chart as arguments of {@code docker run}, which grant the same as a kubelet. A field of a security context without an argument
     * is an error, so that no privilege is ignored; {@code ChartPodTest} knows the other fields.
     */
    static final class PodFlags {
        private static final Pattern DATABASE =
                Pattern.compile("-v [^/]+:/var/lib/genv-enforcer|--mount .*,target=/var/lib/genv-enforcer(-remote)?");

        private final List<String> flags = new ArrayList<>(List.of("-d"));

        private PodFlags() {}

        /** Translates the fields of a pod.
         *
         * @param folders what stands in place of each volume, by its name
         */
        static Flags of(RenderedChart chart, Map<String, Path> folders) {
            var flags = new PodFlags();
            var pod = chart.pod();
            flags.add(pod.path("hostPID").asBoolean(), "--pid=host");
            flags.add(
                    pod.has("runtimeClassName"),
                    "--runtime=" + pod.path("runtimeClassName").asText());
            flags.add(
                    true,
                    "--stop-timeout="
                            + pod.path("terminationGracePeriodSeconds").asText());
            flags.addSecurity(pod.path("securityContext"));
            var container = chart.container();
            flags.addSecurity(container.path("securityContext"));
            container.path("env").forEach(flags::addVariable);
            container.path("volumeMounts").forEach(mount -> flags.addMount(mount, pod.path("volumes"), folders));
            var memory = container.at("/resources/limits/memory").asText();
            flags.add(!memory.isEmpty(), "--memory=" + memory.replace("Mi", "m"));
            return new Flags(flags.flags);
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
                                "--user",
                                group.isMissingNode() ? value.asText() : value.asText() + ":" + group.asText()));
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
                    case "runAsNonRoot", "runAsGroup" -> {} // the one is implied, and the other stands with the user
                    default -> throw new IllegalArgumentException("nobody knows what docker run has for " + field);
                }
            }
        }

        private void addVariable(JsonNode variable) {
            var isNodeName =
                    variable.at("/valueFrom/fieldRef/fieldPath").asText().equals("spec.nodeName");
            var value = isNodeName
                    ? "node-of-the-cluster"
                    : variable.required("value").asText();
            flags.addAll(List.of("-e", variable.path("name").asText() + "=" + value));
        }

        private void addMount(JsonNode mount, JsonNode volumes, Map<String, Path> folders) {
            var name = mount.path("name").asText();
            var folder = Objects.requireNonNull(folders.get(name), name);
            var target = mount.path("mountPath").asText();
            if (name.equals("state")) {
                assertThat(volumes.findValuesAsText("path"))
                        .as("its path on the node")
                        .contains(target);
            }
            var place = "type=bind,source=%s,target=%s".formatted(folder, target);
            flags.addAll(List.of("--mount", mount.path("readOnly").asBoolean() ? place + ",readonly" : place));
        }

        private void add(boolean granted, String... words) {
            if (granted) {
                flags.addAll(List.of(words));
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
                    case "--pid=host", "--read-only", "--privileged", "--network=host" ->
                        privileges.add(arguments.get(i));
                    default -> {}
                }
            }
            privileges.remove("--user 0"); // the default user of a container
            privileges.removeIf(each -> DATABASE.matcher(each).matches());
            return privileges;
        }
    }
}
