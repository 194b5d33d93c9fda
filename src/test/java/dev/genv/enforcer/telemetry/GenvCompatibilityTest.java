package dev.genv.enforcer.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.GeneratedSection;
import io.prometheus.client.exporter.common.TextFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The same machine gives the same metrics as genv's own monitoring, which was recorded. */
class GenvCompatibilityTest {
    private static final Path PAGE = Path.of("src/site/markdown/metrics.md");
    private static final Set<String> HOST_LABELS = Set.of("hostname", "index");

    private final GenvMetricsFixture node =
            new GenvMetricsFixture(GenvMetrics.ALL, false, GenvMetricsFixture.used("gpu-1"));
    private final GenvMetricsFixture fleet = new GenvMetricsFixture(
            GenvMetrics.ALL, true, GenvMetricsFixture.used("gpu-1"), GenvMetricsFixture.unused("gpu-2"));

    @Test
    void nodeExportsWhatGenvMonitorExports() throws IOException {
        assertThat(node.afterCycle().ofGenv()).isEqualTo(GenvMetricsFixture.recorded("local.txt"));
    }

    @Test
    void fleetExportsWhatGenvRemoteMonitorExports() throws IOException {
        assertThat(fleet.afterCycle().ofGenv()).isEqualTo(GenvMetricsFixture.recorded("remote.txt"));
    }

    @Test
    void openMetricsHasTheSame() throws IOException {
        fleet.afterCycle();
        var text = fleet.text(TextFormat.CONTENT_TYPE_OPENMETRICS_100);
        assertThat(Exposition.parse(text).ofGenv()).isEqualTo(GenvMetricsFixture.recorded("remote.txt"));
        assertThat(text).endsWith("# EOF\n");
    }

    @Test
    void hostsAloneHaveNoSeriesOfProcessesEnvironmentsAndUsers() throws IOException {
        var hosts = new GenvMetricsFixture(
                GenvMetrics.HOSTS, true, GenvMetricsFixture.used("gpu-1"), GenvMetricsFixture.unused("gpu-2"));
        var recorded = GenvMetricsFixture.recorded("remote.txt");
        var unbounded = labels(recorded).entrySet().stream()
                .filter(metric -> !HOST_LABELS.containsAll(metric.getValue()))
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
        assertThat(hosts.afterCycle()).isEqualTo(recorded.only(name -> !unbounded.contains(name)));
        assertThat(unbounded).hasSize(7);
    }

    /** Returns the names of the labels of each metric. */
    private static Map<String, Set<String>> labels(Exposition exposition) {
        return exposition.samples().keySet().stream()
                .collect(Collectors.toMap(
                        key -> key.replaceFirst("\\{.*", ""), GenvCompatibilityTest::labelsOf, (one, _) -> one));
    }

    private static Set<String> labelsOf(String key) {
        var names = new TreeSet<String>();
        for (var label : key.replaceFirst("^\\w+\\{?", "").split("\"[,}]|\"$", -1)) {
            if (label.contains("=")) {
                names.add(label.substring(0, label.indexOf('=')));
            }
        }
        return names;
    }

    @Test
    void thePageListsEachOfGenvsMetrics() throws IOException {
        var recorded = GenvMetricsFixture.recorded("local.txt").descriptions();
        var rows = Stream.of(GenvMetric.values())
                .map(metric -> metric.family(List.of()))
                .filter(family -> recorded.containsKey(family.name))
                .sorted(Comparator.comparing(family -> family.name))
                .map(family -> "| `%s` | %s | %s |\n"
                        .formatted(family.name, labelsOfMetric(family.name), recorded.get(family.name)))
                .collect(Collectors.joining());
        GeneratedSection.assertSection(
                PAGE, "genv metrics", "| metric | labels | meaning |\n| --- | --- | --- |\n" + rows);
    }

    private static String labelsOfMetric(String name) {
        return Stream.of(GenvMetric.values())
                .filter(metric -> metric.family(List.of()).name.equals(name))
                .flatMap(metric -> metric.labels().stream())
                .map("`%s`"::formatted)
                .collect(Collectors.collectingAndThen(
                        Collectors.joining(", "), labels -> labels.isEmpty() ? "–" : labels));
    }
}
