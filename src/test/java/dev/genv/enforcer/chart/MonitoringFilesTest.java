package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.RenderedChart;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.Yaml;

/** The files for Prometheus without Kubernetes, which are made from the templates of the chart. */
class MonitoringFilesTest {
    private static final Path FOLDER = Path.of("docker/monitoring");
    private static final Path PAGE = Path.of("src/site/markdown/monitoring.md");

    /** The templates know that the alerts are not the chart's by the key. */
    private static final String BARE = """
            prometheusRule: {selector: 'job="genv-enforcer"'}
            serviceMonitor: {enabled: true}
            extraManifests:
              - apiVersion: v1
                kind: Alerts
                metadata: {name: alerts}
                alerts: |
                  {{ include "genv-enforcer.alerts" (dict "bare" true "Values" .Values "Release" .Release "Chart" .Chart) | nindent 2 }}
            """;

    private static final Pattern KUBERNETES = Pattern.compile(
            "(?i)\\b(pods?|charts?|\\w*Monitor|DaemonSet|Deployment|namespace|Secret|settings\\.\\w+)\\b");

    private static final String NAMESPACE = "namespace=\\\"$namespace\\\"";
    private static final Pattern NAMESPACE_VARIABLE =
            Pattern.compile(" {6}\\{\n {8}\"name\": \"namespace\",(?s:.*?)\n {6}},\n");

    /** Returns the alerts for a Prometheus without Kubernetes. */
    static JsonNode alerts() {
        return RenderedChart.parse(
                RenderedChart.of(BARE).only("Alerts").path("alerts").asText());
    }

    /** Returns a file with rules for Prometheus. */
    static String rulesFile(JsonNode alerts) {
        var options = new DumperOptions();
        options.setDefaultFlowStyle(DumperOptions.FlowStyle.BLOCK);
        options.setIndicatorIndent(2);
        options.setIndentWithIndicator(true);
        options.setWidth(115);
        var group = new ObjectMapper()
                .createObjectNode()
                .put("name", "genv-enforcer")
                .set("rules", alerts);
        var groups = new ObjectMapper().convertValue(List.of(group), List.class);
        return new Yaml(options).dump(Map.of("groups", groups));
    }

    @Test
    void alertsAreThoseOfTheChart() throws IOException {
        GeneratedSection.assertFile(
                FOLDER.resolve("alerts.yml"),
                "# The alerts of the chart for Prometheus without Kubernetes. MonitoringFilesTest writes this file.\n"
                        + rulesFile(alerts()));
    }

    @Test
    void alertsUseNoWordOfKubernetes() {
        assertThat(KUBERNETES.matcher(alerts().toString()).results().map(word -> word.group()))
                .isEmpty();
    }

    /** Without Kubernetes there are no namespaces. */
    @Test
    void dashboardIsThatOfTheChart() throws IOException {
        var board = Files.readString(RenderedChart.CHART.resolve("dashboards/genv-enforcer.json"));
        var bare = NAMESPACE_VARIABLE
                .matcher(board)
                .replaceFirst("")
                .replace("{" + NAMESPACE + "}", "")
                .replace(NAMESPACE + ",", "");
        assertThat(bare).doesNotContain("namespace");
        assertThat(RenderedChart.parse(bare).at("/templating/list")).hasSize(3);
        GeneratedSection.assertFile(FOLDER.resolve("dashboard.json"), bare);
    }

    /** The alerts are computed for its interval, and select its job. */
    @Test
    void scrapeConfigurationFitsTheAlerts() throws IOException {
        var file = RenderedChart.parse(Files.readString(FOLDER.resolve("prometheus.yml")));
        var scrape = file.at("/scrape_configs/0");
        var monitor = ChartValues.read().defaults().path("serviceMonitor");
        assertThat(scrape.path("job_name").asText()).isEqualTo("genv-enforcer");
        assertThat(scrape.path("metrics_path").asText()).isEqualTo("/q/metrics");
        assertThat(scrape.path("scrape_interval")).isEqualTo(monitor.path("interval"));
        assertThat(FOLDER.resolve(file.at("/rule_files/0").asText())).exists();
    }

    @Test
    void prometheusAndAlertmanagerAcceptTheConfigurations() throws IOException {
        Requirements.program("/usr/bin/promtool", "prometheus");
        Requirements.program("/usr/bin/amtool", "prometheus-alertmanager");
        Programs.run("promtool", "check", "config", FOLDER + "/prometheus.yml");
        Programs.run("amtool", "check-config", FOLDER + "/alertmanager.yml");
    }

    @Test
    void everyAlertCanBeDisabledInTheChart() throws IOException {
        var schema = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.schema.json")));
        assertThat(schema.at("/properties/prometheusRule/properties/disabled/items/enum"))
                .containsExactlyInAnyOrderElementsOf(ChartQueriesTest.rules()
                        .map(rule -> rule.path("alert"))
                        .distinct()
                        .toList());
    }

    @Test
    void thePageListsEveryAlert() throws IOException {
        GeneratedSection.assertSection(PAGE, "alerts", ChartReadmeTest.table(Map.of("", alerts())));
    }
}
