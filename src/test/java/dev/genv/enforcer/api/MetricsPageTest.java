package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.chart.ChartQueriesTest;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.SampleCycles;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a scrape exports: the metrics of the service, which {@code metrics.md} and the chart name, and those of genv. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(TokenProtectedNode.class)
class MetricsPageTest {
    private static final Path PAGE = Path.of("src/site/markdown/metrics.md");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"(?:[^\"\\\\]|\\\\.)*\"");
    private static final Pattern ANY_SAMPLE = Pattern.compile("(?m)^([a-zA-Z_:]\\w*)(?:\\{(.*)})? [^ ]+$");
    private static final int FEWEST = 15;

    @Inject
    Enforcer enforcer;

    @Inject
    MeterRegistry registry;

    @ConfigProperty(name = "quarkus.management.port")
    int port;

    @Test
    void thePageListsEveryMetricWithItsTypeLabelsAndMeaning() throws IOException {
        enforcer.runCycle();
        SampleCycles.record(registry);
        var text = scrape().text().replace("\r", "");
        var exported = Exposition.parse(text).only(name -> name.startsWith("genv_enforcer_"));
        var labels = labelsOfMetrics(text);
        var table = new StringBuilder("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
        exported.types().forEach((family, type) -> {
            // In OpenMetrics a counter's family has no suffix, but its samples have one.
            var name = type.equals("counter") && !family.endsWith("_total") ? family + "_total" : family;
            // The samples of a timer or histogram have its name and a suffix.
            var found = Stream.of("", "_bucket", "_count", "_sum")
                    .flatMap(suffix -> labels.getOrDefault(name + suffix, Set.of()).stream())
                    .filter(label -> !label.equals("le"))
                    .distinct()
                    .sorted()
                    .map("`%s`"::formatted)
                    .collect(Collectors.joining(", "));
            table.append("| `%s` | %s | %s | %s |\n"
                    .formatted(
                            name,
                            type,
                            found.isEmpty() ? "–" : found,
                            exported.descriptions().get(family)));
        });

        assertThat(exported.types()).hasSizeGreaterThan(FEWEST);
        GeneratedSection.assertSection(PAGE, "metrics", table.toString());
    }

    private static Map<String, Set<String>> labelsOfMetrics(String text) {
        var found = new TreeMap<String, Set<String>>();
        ANY_SAMPLE.matcher(text).results().forEach(sample -> {
            var labels = found.computeIfAbsent(sample.group(1), _ -> new TreeSet<>());
            LABEL.matcher(String.valueOf(sample.group(2))).results().forEach(label -> labels.add(label.group(1)));
        });
        return found;
    }

    /** The queries of the chart's alerts and dashboard. */
    @Test
    void everyMetricAndLabelOfAlertsAndDashboardExists() throws IOException {
        new FakeNvidiaSmi(TokenProtectedNode.TOOLS).gpus(1).status("0, 1, 16384, 40, 0, [N/A], [N/A]\n");
        enforcer.runCycle();
        SampleCycles.record(registry);
        var exported = labelsOfMetrics(scrape().text().replace("\r", ""));
        ChartQueriesTest.metrics().forEach((metric, labels) -> {
            assertThat(exported).containsKey(metric);
            assertThat(exported.get(metric)).as(metric).containsAll(labels);
        });
    }

    /** Every client gets the text format: Prometheus, curl and promtool, which ask for no format, and one that asks for another. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "text/plain;version=0.0.4",
                "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                "*/*",
                "",
                "application/openmetrics-text"
            })
    void hasGenvsMetricsInTheTextFormat(String accepted) throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var job = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            new StateFiles(Files.createDirectories(TokenProtectedNode.STATE))
                    .ownEnv("a", null, shell.pid())
                    .device(0, "a")
                    .write();
            new FakeNvidiaSmi(TokenProtectedNode.TOOLS).noProcesses().gpus(1).process(0, job.pid(), "1542");
            enforcer.runCycle();
            var answer = accepted.isEmpty() ? scrape() : scrape(accepted);
            assertThat(answer.head().toLowerCase(Locale.ROOT)).contains("content-type: text/plain");
            assertThat(Exposition.parse(answer.text()).ofGenv().samples())
                    .containsEntry("genv_environments_total", 1.0)
                    .containsEntry("genv_process_devices_total{eid=\"a\",pid=\"%d\"}".formatted(job.pid()), 1.0);
        }
    }

    /** The service answers once it has read the token. */
    private RawHttp.Answer scrape(String... accepted) throws IOException {
        var http = new RawHttp(port);
        var token = "Authorization: Bearer " + TokenProtectedNode.TOKEN;
        await().atMost(HANG).until(() -> http.get("/q/metrics", token).status() == 200);
        return http.get(
                "/q/metrics",
                Stream.concat(Stream.of(token), Stream.of(accepted).map("Accept: %s"::formatted))
                        .toArray(String[]::new));
    }
}
