package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** A misspelt value, or one of another type, is refused instead of ignored. */
class ChartSchemaTest {
    private static final Set<String> WITHOUT_DEFAULT = Set.of(
            "resources.limits.cpu", "resources.limits.ephemeral-storage", "resources.requests.ephemeral-storage");

    @Test
    void describesExactlyTheValuesOfTheChart() throws IOException {
        var values = ChartValues.read();
        var there = new TreeSet<>(values.sections());
        values.all().forEach(value -> there.add(value.path()));
        assertThat(described(values)).isEqualTo(there);
    }

    @Test
    void refusesUnknownNamesEverywhere() throws IOException {
        var sections = ChartValues.read().sections();
        var values = RenderedChart.parse("nonsense: 1");
        sections.forEach(section -> set(values, section + ".nonsense", "1"));
        var refusal = RenderedChart.errorOf(values.toString());
        assertThat(refusal).contains("at '': additional properties 'nonsense' not allowed");
        for (var section : sections) {
            assertThat(refusal)
                    .contains("at '/%s': additional properties 'nonsense' not allowed"
                            .formatted(section.replace('.', '/')));
        }
    }

    @Test
    void refusesOtherTypesEverywhere() throws IOException {
        var all = ChartValues.read().all();
        var values = RenderedChart.parse("");
        all.forEach(value -> set(values, value.path(), "[[]]"));
        var refusal = RenderedChart.errorOf(values.toString());
        for (var value : all) {
            assertThat(refusal).containsPattern("at '%s(/0)?':".formatted(value.pointer()));
        }
    }

    private static void set(JsonNode values, String path, String value) {
        var at = (ObjectNode) values;
        var names = path.split("\\.", -1);
        for (var i = 0; i < names.length - 1; i++) {
            at = at.withObjectProperty(names[i]);
        }
        at.set(names[names.length - 1], RenderedChart.parse(value));
    }

    private static Set<String> described(ChartValues values) throws IOException {
        var schema = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.schema.json")));
        var found = new TreeSet<String>();
        collect(schema, schema, "", values, found);
        found.remove("global"); // Helm adds it for a subchart
        found.removeAll(WITHOUT_DEFAULT);
        return found;
    }

    private static void collect(JsonNode schema, JsonNode at, String prefix, ChartValues values, Set<String> found) {
        var here = at.has("$ref") ? schema.at(at.path("$ref").asText().substring(1)) : at;
        var isValue = values.all().stream().anyMatch(value -> (value.path() + ".").equals(prefix));
        if (!isValue) {
            here.path("properties").properties().forEach(each -> {
                found.add(prefix + each.getKey());
                collect(schema, each.getValue(), prefix + each.getKey() + ".", values, found);
            });
        }
    }
}
