package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Nobody sets a value in vain. */
class ChartValuesTest {
    /** What excludes something in the chart's own examples. */
    private static final List<String> OTHERS = List.of("""
                    mode: remote
                    remote:
                      hosts: [raz@gpu-1]
                      identity: {existingSecret: login}
                      knownHosts: {existingSecret: known}
                      sshConfig: {existingConfigMap: ssh}
                    """);

    /** Each is set in one of the examples, and what that makes is another thing, or nothing, when it is taken out there. */
    @Test
    void everyValueChangesSomething() throws IOException {
        var examples = new ArrayList<>(OTHERS);
        List.of("full", "remote", "existing").forEach(name -> examples.add(RenderedChart.example(name)));
        var trees = examples.stream().map(RenderedChart::parse).toList();
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

    /** Nothing where the chart refuses it. */
    private static Optional<String> rendering(JsonNode values) {
        try {
            return Optional.of(RenderedChart.of(values.toString()).text());
        } catch (IllegalStateException e) {
            return Optional.empty();
        }
    }
}
