package dev.genv.enforcer.testsupport;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.marcnuri.helm.Helm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The output of {@code helm template} for some values, without a cluster. */
public final class RenderedChart {
    public static final Path CHART = Path.of("helm/genv-enforcer");
    public static final String NAME = "genv-enforcer";
    public static final String NAMESPACE = "gpu";
    /** A Kubernetes version with everything that the chart needs. */
    private static final String KUBERNETES = "1.33.0";

    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

    private final String text;
    private @Nullable List<JsonNode> documents;

    private RenderedChart(String text) {
        this.text = text;
    }

    /**
     * Renders the chart with these values over its own.
     *
     * @param values YAML, perhaps empty
     * @throws IllegalStateException if the chart refuses them, with Helm's whole message
     */
    public static RenderedChart of(String values) {
        return forKubernetes(KUBERNETES, values);
    }

    /** The same for a Kubernetes version, such as {@code 1.29.0}. */
    public static RenderedChart forKubernetes(String kubernetes, String values) {
        try {
            var file = Files.createTempFile("values", ".yaml");
            try {
                Files.writeString(file, values);
                return new RenderedChart(new Helm(CHART)
                        .template()
                        .withName(NAME)
                        .withNamespace(NAMESPACE)
                        .withKubeVersion(kubernetes)
                        .withValuesFile(file)
                        .call());
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Renders one of the chart's own examples, {@code ci/NAME-values.yaml}. */
    public static RenderedChart ofExample(String name) {
        return of(example(name));
    }

    /** Returns the values of one of the chart's own examples. */
    public static String example(String name) {
        try {
            return Files.readString(CHART.resolve("ci").resolve(name + "-values.yaml"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns Helm's message for values that the chart refuses. */
    public static String errorOf(String values) {
        try {
            of(values);
        } catch (IllegalStateException e) {
            return String.valueOf(e.getMessage());
        }
        throw new AssertionError("the chart accepts\n" + values);
    }

    /** Returns the exact output of Helm. */
    public String text() {
        return text;
    }

    public List<JsonNode> documents() {
        if (documents == null) {
            try (var values = YAML.readerFor(JsonNode.class).<JsonNode>readValues(text)) {
                documents = values.readAll().stream().filter(JsonNode::isObject).toList();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return documents;
    }

    /** Returns the objects of a kind, such as {@code DaemonSet}. */
    public List<JsonNode> all(String kind) {
        return documents().stream()
                .filter(each -> each.path("kind").asText().equals(kind))
                .toList();
    }

    /** Returns the only object of a kind. */
    public JsonNode only(String kind) {
        var all = all(kind);
        if (all.size() != 1) {
            throw new AssertionError("%d of kind %s".formatted(all.size(), kind));
        }
        return all.getFirst();
    }

    /** The {@code spec} of the pod, of the DaemonSet or of the Deployment. */
    public JsonNode pod() {
        return workload().at("/spec/template/spec");
    }

    /** The DaemonSet or the Deployment. */
    public JsonNode workload() {
        return all("DaemonSet").isEmpty() ? only("Deployment") : only("DaemonSet");
    }

    /** The one container of the pod. */
    public JsonNode container() {
        return pod().at("/containers/0");
    }

    /** Returns the variables of the container that have a value instead of a reference. */
    public Map<String, String> environment() {
        var environment = new TreeMap<String, String>();
        for (var each : container().path("env")) {
            if (each.has("value")) {
                environment.put(each.path("name").asText(), each.path("value").asText());
            }
        }
        return environment;
    }

    /** Parses a single YAML document; an empty one gives an empty object. */
    public static JsonNode parse(String yaml) {
        try {
            var tree = YAML.readTree(yaml);
            return tree.isMissingNode() || tree.isNull() ? YAML.createObjectNode() : tree;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
