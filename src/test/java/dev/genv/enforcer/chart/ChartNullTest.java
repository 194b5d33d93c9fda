package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Null removes a default. The chart refuses it where a value is required. */
class ChartNullTest {
    /** The values whose comments define null. */
    private static final Set<String> NULLABLE = Set.of(
            "remote.runAsUser",
            "resources.requests",
            "resources.requests.cpu",
            "resources.requests.memory",
            "resources.limits",
            "resources.limits.memory");

    /** These values render every object. */
    private static final String NODE = """
            {prometheusRule: {enabled: true}, serviceMonitor: {enabled: true}, dashboard: {enabled: true},
             networkPolicy: {enabled: true, ingressFrom: [{podSelector: {}}]}, apiToken: {existingSecret: token}}
            """;

    private static final String REMOTE = """
            {mode: remote, serviceMonitor: {enabled: true}, networkPolicy: {enabled: true, ingressFrom: [{podSelector: {}}]},
             remote: {hosts: [raz@gpu-1], hostfile: {existingConfigMap: hosts}, identity: {existingSecret: login},
                      knownHosts: {existingSecret: known}, sshConfig: {existingSecret: ssh}}}
            """;

    /** An empty YAML value is null, and means an empty list. */
    @Test
    void nullEqualsAnEmptyDefault() throws IOException {
        for (var values : List.of(NODE, REMOTE)) {
            var without = RenderedChart.of(values).text();
            for (var value : ChartValues.read().all()) {
                if (isEmpty(value.defaultValue()) && !isSet(values, value.path())) {
                    assertThat(RenderedChart.of(withNull(values, value.path())).text())
                            .as(value.path())
                            .isEqualTo(without);
                }
            }
        }
    }

    @Test
    void refusesNullForOtherValuesAndNamesThem() throws IOException {
        for (var path : requiredPaths()) {
            var last = path.substring(path.lastIndexOf('.') + 1);
            var parent = path.contains(".")
                    ? "/" + path.substring(0, path.lastIndexOf('.')).replace('.', '/')
                    : "";
            assertThat(RenderedChart.errorOf(withNull("{}", path)))
                    .as(path)
                    .containsPattern("at '%s': missing propert(y|ies) .*'%s'".formatted(parent, last));
        }
    }

    @Test
    void nullableValuesRenderValidObjects() throws IOException {
        for (var values : List.of(NODE, REMOTE)) {
            for (var path : NULLABLE) {
                var chart = RenderedChart.of(withNull(values, path));
                assertThat(chart.text()).as(path).doesNotContain("<nil>");
                ChartObjectsTest.check(chart);
            }
        }
    }

    /** The values, and the sections that contain values. */
    private static List<String> requiredPaths() throws IOException {
        var values = ChartValues.read();
        var needed = new ArrayList<>(values.sections());
        values.all().stream()
                .filter(value -> !value.defaultValue().isNull() && !isEmpty(value.defaultValue()))
                .forEach(value -> needed.add(value.path()));
        needed.removeAll(NULLABLE);
        assertThat(needed).hasSizeGreaterThan(50).contains("settings.stateDir", "probes.startup.periodSeconds");
        return needed;
    }

    private static boolean isEmpty(JsonNode value) {
        return value.isContainerNode()
                ? value.isEmpty()
                : value.isTextual() && value.asText().isEmpty();
    }

    private static boolean isSet(String values, String path) {
        return !RenderedChart.parse(values).at("/" + path.replace('.', '/')).isMissingNode();
    }

    private static String withNull(String values, String path) {
        var tree = RenderedChart.parse(values);
        var at = (ObjectNode) tree;
        var names = path.split("\\.", -1);
        for (var i = 0; i < names.length - 1; i++) {
            at = at.withObjectProperty(names[i]);
        }
        at.putNull(names[names.length - 1]);
        return tree.toString();
    }
}
