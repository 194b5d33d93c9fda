package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every value has an effect. */
class ChartValuesTest {
    /** The chart without its schema, which another test checks and which takes half of the time. */
    @TempDir
    Path chart;

    /** Values that contradict one of the chart's examples. */
    private static final String OTHER_VALUES = """
                    mode: remote
                    remote:
                      hosts: [raz@gpu-1]
                      identity: {existingSecret: login}
                      knownHosts: {existingSecret: known}
                      sshConfig: {existingConfigMap: ssh}
                    """;

    @BeforeEach
    void copyChart() throws IOException {
        try (var files = Files.walk(RenderedChart.CHART)) {
            for (var file :
                    files.filter(each -> !each.endsWith("values.schema.json")).toList()) {
                Files.copy(
                        file,
                        chart.resolve(RenderedChart.CHART.relativize(file).toString()),
                        StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    /** Each value is set in one of the examples, and the output changes without it. */
    @Test
    void everyValueChangesTheRendering() throws IOException {
        var trees = new ArrayList<JsonNode>();
        trees.add(RenderedChart.parse(OTHER_VALUES));
        for (var name : List.of("existing", "remote", "full")) {
            var tree = RenderedChart.parse(RenderedChart.example(name));
            // Large values take time: first without them.
            trees.add(without(without(tree, "prometheusRule"), "dashboard"));
            trees.add(tree);
        }
        var rendered = trees.stream().map(tree -> rendering(tree).orElseThrow()).toList();

        var idle = new ArrayList<String>();
        for (var value : ChartValues.read().all()) {
            var changes = false;
            for (var i = 0; i < trees.size() && !changes; i++) {
                changes = !trees.get(i).at(value.pointer()).isMissingNode()
                        && !rendering(without(trees.get(i), value.path())).equals(Optional.of(rendered.get(i)));
            }
            if (!changes) {
                idle.add(value.path());
            }
        }
        assertThat(idle).isEmpty();
    }

    private static JsonNode without(JsonNode tree, String path) {
        JsonNode copy = tree.deepCopy();
        var dot = path.lastIndexOf('.');
        var parent = dot < 0 ? copy : copy.at("/" + path.substring(0, dot).replace('.', '/'));
        ((ObjectNode) parent).remove(path.substring(dot + 1));
        return copy;
    }

    /** Empty if the chart refuses the values. */
    private Optional<String> rendering(JsonNode values) {
        try {
            return Optional.of(RenderedChart.ofCopy(chart, values.toString()).text());
        } catch (IllegalStateException e) {
            return Optional.empty();
        }
    }
}
