package dev.genv.enforcer.chart;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.util.ArrayDeque;
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
        private static final String OPENS = "([{";
        private static final String CLOSES = ")]}";
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
            var open = new ArrayDeque<Character>();
            var bare = QUOTED.matcher(text).replaceAll("");
            for (var i = 0; i < bare.length(); i++) {
                var each = bare.charAt(i);
                if (OPENS.indexOf(each) >= 0) {
                    open.push(each);
                }
                var closed = CLOSES.indexOf(each);
                if (closed >= 0 && (open.isEmpty() || open.pop() != OPENS.charAt(closed))) {
                    return false;
                }
            }
            return open.isEmpty() && bare.indexOf('"') < 0;
        }
    }
}
