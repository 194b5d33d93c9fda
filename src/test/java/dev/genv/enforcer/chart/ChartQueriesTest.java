package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The queries of the alerts and the dashboard of the chart are valid; {@code MetricsPageTest} checks with a running service that their
 * metrics exist.
 */
public class ChartQueriesTest {
    @Test
    void everyExpressionIsBalanced() {
        var all = Stream.concat(alerts(), dashboard()).toList();
        assertThat(all).hasSizeGreaterThan(40).allMatch(query -> new PromExpression(query).isBalanced());
    }

    static Stream<Arguments> labels() {
        return Stream.of(
                arguments("code", Arrays.stream(ProblemCode.values()).map(ProblemCode::label)),
                arguments("outcome", Arrays.stream(Outcome.values()).map(Outcome::label)),
                arguments("result", Arrays.stream(CycleResult.values()).map(CycleResult::label)));
    }

    /** A misspelt problem code would never cause an alert. */
    @ParameterizedTest
    @MethodSource("labels")
    void everyValueOfALabelExists(String label, Stream<String> all) {
        assertThat(values(label)).isNotEmpty().isSubsetOf(all.toList());
    }

    /** Two installations on one Prometheus do not alert for each other. */
    @Test
    void everyQuerySelectsThisInstallation() {
        assertThat(alerts())
                .allSatisfy(query -> assertThat(query.split("\\{", -1).length)
                        .isEqualTo(query.split("\\{namespace=\"gpu\",job=\"genv-enforcer\"", -1).length));
        assertThat(dashboard().filter(query -> query.contains("{")).toList())
                .allMatch(query -> query.contains("namespace=\"$namespace\""));
    }

    /** A series that begins with 1 has not increased. */
    @Test
    void alertsDetectTheFirstIncrementOfACounter() {
        assertThat(alerts().filter(query -> query.contains("terminations_total")))
                .isNotEmpty()
                .allMatch(query -> query.contains("unless") && query.contains("offset"));
    }

    private static List<String> values(String label) {
        var matcher = Pattern.compile("\\b%s=~?\"([^\"]*)\"".formatted(label));
        return alerts().flatMap(query -> matcher.matcher(query).results())
                .flatMap(found -> Arrays.stream(found.group(1).split("\\|", -1)))
                .distinct()
                .toList();
    }

    /** The labels that Prometheus and its operator add to every series. */
    private static final Set<String> TARGET_LABELS = Set.of("namespace", "job", "instance", "pod", "node");

    private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.*), \\w+\\)");

    /** Values with alerts on nodes. */
    static final String ALERTS = "{prometheusRule: {enabled: true}, serviceMonitor: {enabled: true}}";

    /**
     * The names of all metrics that are asked for, each with those of its labels by which series are chosen; without what
     * comes from Prometheus itself.
     */
    public static Map<String, Set<String>> metrics() {
        var all = new TreeMap<String, Set<String>>();
        Stream.concat(alerts(), dashboard())
                .map(PromExpression::new)
                .flatMap(query -> query.metrics().entrySet().stream())
                .filter(metric -> !metric.getKey().equals("up"))
                .forEach(metric -> all.computeIfAbsent(metric.getKey(), _ -> new TreeSet<>())
                        .addAll(metric.getValue()));
        all.values().forEach(labels -> labels.removeAll(TARGET_LABELS));
        return all;
    }

    static Stream<String> alerts() {
        return rules().map(rule -> rule.path("expr").asText());
    }

    /** The alerts of both modes. */
    static Stream<JsonNode> rules() {
        return Stream.of(ALERTS, RenderedChart.example("remote"))
                .flatMap(values -> rules(values).valueStream());
    }

    /** The alerts of the chart with these values. */
    static JsonNode rules(String values) {
        return RenderedChart.of(values).only("PrometheusRule").at("/spec/groups/0/rules");
    }

    static Stream<String> dashboard() {
        var board = board();
        var panels = board.path("panels")
                .valueStream()
                .flatMap(panel -> panel.path("targets").valueStream());
        return Stream.concat(
                panels.map(target -> target.path("expr").asText()),
                board.at("/templating/list")
                        .valueStream()
                        .map(variable -> variable.path("definition").asText(""))
                        .filter(definition -> !definition.isEmpty())
                        .map(definition -> LABEL_VALUES.matcher(definition).replaceAll("$1")));
    }

    /** The dashboard in its ConfigMap. */
    static JsonNode board() {
        return RenderedChart.of("dashboard: {enabled: true}").documents().stream()
                .filter(each ->
                        each.at("/metadata/labels/grafana_dashboard").asText().equals("1"))
                .map(map -> RenderedChart.parse(map.path("data")
                        .properties()
                        .iterator()
                        .next()
                        .getValue()
                        .asText()))
                .findFirst()
                .orElseThrow();
    }

    /** The series of a PromQL expression; it parses the part of the language that the alerts and the dashboard use. */
    record PromExpression(String text) {
        private static final Pattern QUOTED = Pattern.compile("\"(?:[^\"\\\\]|\\\\.)*\"");
        private static final Pattern GROUPING =
                Pattern.compile("\\b(by|without|on|ignoring|group_left|group_right)\\s*\\([^)]*\\)");
        private static final Pattern RANGE = Pattern.compile("\\[[^]]*]");
        private static final Pattern OFFSET = Pattern.compile("\\boffset\\s+\\w+");
        private static final Pattern SELECTOR =
                Pattern.compile("(?<![a-zA-Z0-9_:.])([a-zA-Z_:][a-zA-Z0-9_:]*)\\s*(\\{[^}]*}|\\(|)");
        private static final Pattern LABEL = Pattern.compile("([a-zA-Z_][a-zA-Z0-9_]*)\\s*(?:=~|!~|!=|=)");
        private static final Pattern PAIR = Pattern.compile("\\(\\)|\\[]|\\{}");
        private static final Set<String> WORDS = Set.of("and", "or", "unless", "bool");

        /** The names of the metrics, each with the labels of its selectors. */
        Map<String, Set<String>> metrics() {
            var metrics = new TreeMap<String, Set<String>>();
            var bare = QUOTED.matcher(text).replaceAll("\"\"");
            bare = GROUPING.matcher(bare).replaceAll("");
            bare = RANGE.matcher(bare).replaceAll("");
            bare = OFFSET.matcher(bare).replaceAll("");
            var selector = SELECTOR.matcher(bare);
            while (selector.find()) {
                var follows = selector.group(2);
                if (!follows.equals("(") && !WORDS.contains(selector.group(1))) {
                    var labels = metrics.computeIfAbsent(selector.group(1), _ -> new TreeSet<>());
                    LABEL.matcher(follows).results().forEach(label -> labels.add(label.group(1)));
                }
            }
            return metrics;
        }

        /** Whether every bracket and quote is closed. */
        boolean isBalanced() {
            var bare = QUOTED.matcher(text).replaceAll("").replaceAll("[^\\[\\](){}\"]", "");
            while (PAIR.matcher(bare).find()) {
                bare = PAIR.matcher(bare).replaceAll("");
            }
            return bare.isEmpty();
        }
    }
}
