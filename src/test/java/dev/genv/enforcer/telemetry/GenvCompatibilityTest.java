package dev.genv.enforcer.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import dev.genv.enforcer.testsupport.GeneratedSection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The same machine gives the same metrics as genv's own monitoring, which was recorded. */
class GenvCompatibilityTest {
    private static final Path PAGE = Path.of("src/site/markdown/metrics.md");

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
    void hostsAloneHaveNoSeriesOfProcessesEnvironmentsAndUsers() throws IOException {
        var hosts = new GenvMetricsFixture(
                GenvMetrics.HOSTS, true, GenvMetricsFixture.used("gpu-1"), GenvMetricsFixture.unused("gpu-2"));
        var recorded = GenvMetricsFixture.recorded("remote.txt").samples();
        recorded.keySet().removeIf(series -> series.matches(".*[{,](pid|eid|username)=.*"));
        assertThat(hosts.afterCycle().samples()).isEqualTo(recorded);
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
