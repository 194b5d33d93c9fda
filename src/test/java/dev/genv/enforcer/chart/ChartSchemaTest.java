package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A misspelt value, one of another type, or null where a value is required, is refused instead of ignored. */
class ChartSchemaTest {
    private static final Set<String> WITHOUT_DEFAULT = Set.of(
            "resources.limits.cpu", "resources.limits.ephemeral-storage", "resources.requests.ephemeral-storage");

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

    private static final Pattern BAR = Pattern.compile("\\|");

    private static final String USERS =
            "|raz@|dom\\user@|a@b@|$user+x@|@|-u@|r z@|r/z@|r:z@|ü@|" + "a".repeat(255) + "@|" + "a".repeat(256) + "@";

    private static final String HOSTS =
            "gpu-1.example.com|_gpu|.a|10.0.0.1|-gpu|gpü| |gpu 1|gpu-1,gpu-2|gpu-1#|::1|[::1|::1]|[]|[:]"
                    + "|[::1]|[fe80::1%eth0.1]|[::ffff:10.0.0.1]|[::FFFF:1.2.3.4]|[:::::]|[1:2:3:4:5:6:7:8]|[10.0.0.1]"
                    + "|[abcd]|[abcd%eth0]|[2001:db8::1.2.3.4]|[::ffff:10.0.0.1%eth0]|[::ffff:1.1.1]|[::1%]|[::1%a:b]"
                    + "|[::1%eth 0]|[g::1]"
                    + "|[::1%abcdefghijklmnopqrstuvwxyz0123456]|[::1%abcdefghijklmnopqrstuvwxyz012345]"
                    + "|[1111:2222:3333:4444:5555:6666:7777:8888]|[1111:2222:3333:4444:5555:6666:7777:88889]|"
                    + "a".repeat(255) + "|" + "a".repeat(256) + "|";

    private static final String PORTS =
            "|:|:0|:1|:022|:00000|:00022|:000022|:65535|:65536|:99999|:123456|:+22|:-1|:22:22|:２２|22";

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
        set(tree, path, NullNode.getInstance());
        return tree.toString();
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
    void acceptsTheSameHostsAsTheService() throws IOException {
        var schema = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.schema.json")))
                .at("/definitions/host");
        var required = Pattern.compile(schema.path("pattern").asText());
        var forbidden = Pattern.compile(schema.at("/not/pattern").asText());
        var accepted = 0;
        for (var user : BAR.split(USERS, -1)) {
            for (var name : BAR.split(HOSTS, -1)) {
                for (var port : BAR.split(PORTS, -1)) {
                    var host = user + name + port;
                    var accepts = required.matcher(host).find()
                            && !forbidden.matcher(host).find();
                    assertThat(accepts).as(host).isEqualTo(serviceAccepts(host));
                    accepted += accepts ? 1 : 0;
                }
            }
        }
        assertThat(accepted).isGreaterThan(200);
    }

    /** Helm has its own dialect of patterns, so Helm checks some of them here. */
    @Test
    void helmAppliesThePatternsOfTheSchema() {
        for (var host : new String[] {"raz@[10.0.0.1]", "[2001:db8::1.2.3.4]", "gpu-1:000022"}) {
            assertThat(RenderedChart.errorOf("remote: {hosts: ['%s']}".formatted(host)))
                    .contains("at '/remote/hosts/0'");
        }
        for (var host : new String[] {"raz@[fe80::1%eth0.1]:00022", "[::ffff:10.0.0.1]", "a@b@c"}) {
            assertThat(RenderedChart.errorOf("remote: {hosts: ['%s']}".formatted(host)))
                    .doesNotContain("at '/remote/hosts/0'")
                    .contains("set mode=remote");
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
