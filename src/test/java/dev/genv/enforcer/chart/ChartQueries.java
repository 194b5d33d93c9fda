package dev.genv.enforcer.chart;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The queries of the chart's alerts and dashboard. */
public final class ChartQueries {
    /** The labels that Prometheus and its operator add to every series. */
    private static final Set<String> TARGET_LABELS = Set.of("namespace", "job", "instance", "pod", "node");

    private static final Pattern LABEL_VALUES = Pattern.compile("label_values\\((.*), \\w+\\)");

    /** Values with alerts on nodes. */
    static final String ALERTS = "{prometheusRule: {enabled: true}, serviceMonitor: {enabled: true}}";

    private ChartQueries() {}

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
        return List.of(ALERTS, RenderedChart.example("remote")).stream()
                .flatMap(values -> RenderedChart.of(values)
                        .only("PrometheusRule")
                        .at("/spec/groups/0/rules")
                        .valueStream())
                .map(rule -> rule.path("expr").asText());
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
}
