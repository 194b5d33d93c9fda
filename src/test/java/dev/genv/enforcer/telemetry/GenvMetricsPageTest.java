package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
import dev.genv.enforcer.testsupport.GeneratedSection;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table of genv's metrics in {@code metrics.md}. */
class GenvMetricsPageTest {
    private static final Path PAGE = Path.of("src/site/markdown/metrics.md");

    @Test
    void thePageListsEachOfGenvsMetrics() throws IOException {
        var recorded = RecordedMachine.recorded("local.txt").descriptions();
        var rows = Stream.of(GenvMetric.values())
                .map(metric -> metric.family(List.of()))
                .filter(family -> recorded.containsKey(family.name))
                .sorted(Comparator.comparing(family -> family.name))
                .map(family ->
                        "| `%s` | %s | %s |\n".formatted(family.name, labels(family.name), recorded.get(family.name)))
                .collect(Collectors.joining());
        GeneratedSection.assertSection(
                PAGE, "genv metrics", "| metric | labels | meaning |\n| --- | --- | --- |\n" + rows);
    }

    private static String labels(String name) {
        return Stream.of(GenvMetric.values())
                .filter(metric -> metric.family(List.of()).name.equals(name))
                .flatMap(metric -> metric.labels().stream())
                .map("`%s`"::formatted)
                .collect(Collectors.collectingAndThen(
                        Collectors.joining(", "), labels -> labels.isEmpty() ? "–" : labels));
    }
}
