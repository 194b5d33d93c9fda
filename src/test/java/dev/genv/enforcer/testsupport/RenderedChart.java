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
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/** What the chart makes of some values, as {@code helm template} prints it; there is no cluster. */
public final class RenderedChart {
    public static final Path CHART = Path.of("helm/genv-enforcer");
    public static final String NAME = "genv-enforcer";
    public static final String NAMESPACE = "gpu";
    /** One that has everything that the chart asks for. */
    private static final String KUBERNETES = "1.33.0";

    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

    private final String text;
    private @Nullable List<JsonNode> documents;

    private RenderedChart(String text) {
        this.text = text;
    }

    /**
     * With these values over those of the chart.
     *
     * @param values YAML, perhaps empty
     * @throws IllegalStateException where the chart refuses them, with Helm's whole message
     */
    public static RenderedChart of(String values) {
        return render(CHART, NAME, KUBERNETES, values);
    }

    /** The same of a release that is called otherwise. */
    public static RenderedChart ofRelease(String name, String values) {
        return render(CHART, name, KUBERNETES, values);
    }

    /** The same for a cluster of some version, such as {@code 1.29.0}. */
    public static RenderedChart forKubernetes(String kubernetes, String values) {
        return render(CHART, NAME, kubernetes, values);
    }

    /** With the values of one of the chart's own examples, {@code ci/NAME-values.yaml}. */
    public static RenderedChart ofExample(String name) {
        return of(example(name));
    }

    /** The values of one of the chart's own examples. */
    public static String example(String name) {
        try {
            return Files.readString(CHART.resolve("ci").resolve(name + "-values.yaml"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** With a copy of the chart; for what Helm does not print, such as its hooks. */
    public static RenderedChart ofCopy(Path chart, String values) {
        return render(chart, NAME, KUBERNETES, values);
    }

    /** What Helm says of values that the chart refuses. */
    public static String errorOf(String values) {
        try {
            of(values);
        } catch (IllegalStateException e) {
            return String.valueOf(e.getMessage());
        }
        throw new AssertionError("the chart accepts\n" + values);
    }

    private static RenderedChart render(Path chart, String release, String kubernetes, String values) {
        try {
            var file = Files.createTempFile("values", ".yaml");
            try {
                Files.writeString(file, values);
                return new RenderedChart(new Helm(chart)
                        .template()
                        .withName(release)
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

    /** Exactly what Helm prints. */
    public String text() {
        return text;
    }

    public List<JsonNode> documents() {
        if (documents == null) {
            documents = parseAll(text);
        }
        return documents;
    }

    /** Those of a kind, such as {@code DaemonSet}. */
    public List<JsonNode> all(String kind) {
        return documents().stream()
                .filter(each -> each.path("kind").asText().equals(kind))
                .toList();
    }

    /** The only one of a kind. */
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

    /** The variables of the container that have a value, and not only a place from which one comes. */
    public Map<String, String> environment() {
        var environment = new TreeMap<String, String>();
        for (var each : container().path("env")) {
            if (each.has("value")) {
                environment.put(each.path("name").asText(), each.path("value").asText());
            }
        }
        return environment;
    }

    /** Reads a single YAML document; of an empty one comes an empty object. */
    public static JsonNode parse(String yaml) {
        try {
            var tree = YAML.readTree(yaml);
            return tree.isMissingNode() || tree.isNull() ? YAML.createObjectNode() : tree;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<JsonNode> parseAll(String yaml) {
        try (var values = YAML.readerFor(JsonNode.class).<JsonNode>readValues(yaml)) {
            var all = values.readAll();
            return StreamSupport.stream(all.spliterator(), false)
                    .filter(JsonNode::isObject)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
