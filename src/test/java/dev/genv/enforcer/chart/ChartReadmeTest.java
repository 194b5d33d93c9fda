package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The tables of values and alerts in the chart's README. */
class ChartReadmeTest {
    private static final Path README = RenderedChart.CHART.resolve("README.md");

    @Test
    void listsEveryValueWithItsDescription() throws IOException {
        var table = new StringBuilder("| value | default | meaning |\n| --- | --- | --- |\n");
        for (var value : ChartValues.read().all()) {
            table.append("| `%s` | %s | %s |\n"
                    .formatted(value.path(), defaultCell(value.defaultValue()), cell(value.description())));
        }
        GeneratedSection.assertSection(README, "values", table.toString());
    }

    @Test
    void listsEveryAlert() throws IOException {
        var modes = new LinkedHashMap<String, JsonNode>();
        modes.put("node", ChartQueriesTest.rules(ChartQueriesTest.ALERTS));
        modes.put("remote", ChartQueriesTest.rules(RenderedChart.example("remote")));
        GeneratedSection.assertSection(README, "alerts", table(modes));
    }

    /** Returns a table of the alerts, with the mode of those that exist in one mode only if there are several. */
    static String table(Map<String, JsonNode> alertsOfModes) {
        var modes = new LinkedHashMap<String, String>();
        var alerts = new LinkedHashMap<String, JsonNode>();
        alertsOfModes.forEach((mode, rules) -> rules.forEach(alert -> {
            var name = alert.path("alert").asText();
            alerts.putIfAbsent(name, alert);
            modes.merge(name, mode, (_, _) -> "");
        }));
        var hasModes = alertsOfModes.size() > 1;
        var table = new StringBuilder(
                hasModes
                        ? "| alert | severity | meaning | mode |\n| --- | --- | --- | --- |\n"
                        : "| alert | severity | meaning |\n| --- | --- | --- |\n");
        alerts.forEach((name, alert) -> table.append("| `%s` | %s | %s |%s\n"
                .formatted(
                        name,
                        alert.at("/labels/severity").asText(),
                        cell(alert.at("/annotations/summary")
                                .asText()
                                .replaceAll("\\{\\{ (?:or )?\\$(?:labels\\.)?(\\w+)[^}]* }}", "*$1*")),
                        hasModes ? " %s |".formatted(modes.get(name)) : "")));
        return table.toString();
    }

    /** Administrators need the version to upgrade. */
    @Test
    void chartAndServiceHaveTheSameVersion() throws IOException {
        var chart = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("Chart.yaml")));
        var version = chart.path("appVersion").asText();
        assertThat(Files.readString(Path.of("pom.xml")))
                .containsPattern("<artifactId>genv-enforcer</artifactId>\\s*<version>%s(-SNAPSHOT)?</version>"
                        .formatted(Pattern.quote(version)));
        assertThat(chart.path("version").asText()).isEqualTo(version);
    }

    private static String defaultCell(JsonNode value) {
        return value.isNull() ? "–" : "`%s`".formatted(cell(value.toString()));
    }

    private static String cell(String text) {
        return text.replace("|", "\\|");
    }
}
