package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A misspelt value, one of another type, or null where a value is required, is refused instead of ignored. */
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
        sections.forEach(section -> set(values, section + ".nonsense", IntNode.valueOf(1)));
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
        all.forEach(value -> set(values, value.path(), RenderedChart.parse("[[]]")));
        var refusal = RenderedChart.errorOf(values.toString());
        for (var value : all) {
            assertThat(refusal).containsPattern("at '%s(/0)?':".formatted(value.pointer()));
        }
    }

    private static void set(JsonNode values, String path, JsonNode value) {
        var at = (ObjectNode) values;
        var names = path.split("\\.", -1);
        for (var i = 0; i < names.length - 1; i++) {
            at = at.withObjectProperty(names[i]);
        }
        at.set(names[names.length - 1], value);
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

    @Test
    void acceptsTheSameHostsAsTheService() {
        var accepted = "gpu-1.example.com,raz@_gpu:22,10.0.0.1:00022,a@b@c,dom\\user@[::1]:65535,[fe80::1%eth0.1],"
                + "[::ffff:10.0.0.1],[1:2:3:4:5:6:7:8]," + "a".repeat(255);
        var refused = ",@,$user+x@gpu,-u@gpu,r z@gpu,r/z@gpu,ü@gpu,-gpu,gpü,gpu"
                + " 1,gpu-1;gpu-2,gpu-1#,::1,[::1,[10.0.0.1],[abcd],"
                + "[2001:db8::1.2.3.4],[::1%],[g::1],gpu:,gpu:0,gpu:000022,gpu:65536,gpu:+22,gpu:22:22,gpu:２２,"
                + "a".repeat(256);
        var hosts = Stream.of((accepted + "," + refused).split(",", -1))
                .map(host -> host.replace(';', ','))
                .toList();
        var values = RenderedChart.parse("");
        ((ObjectNode) values).putObject("remote").putPOJO("hosts", hosts);
        var refusal = RenderedChart.errorOf(values.toString());
        assertThat(hosts.stream().filter(ChartSchemaTest::serviceAccepts)).isEqualTo(hosts.subList(0, 9));
        for (var i = 0; i < hosts.size(); i++) {
            assertThat(!refusal.contains("at '/remote/hosts/%d'".formatted(i)))
                    .as(hosts.get(i))
                    .isEqualTo(serviceAccepts(hosts.get(i)));
        }
    }

    private static boolean serviceAccepts(String host) {
        try {
            HostAddress.parse(host);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
