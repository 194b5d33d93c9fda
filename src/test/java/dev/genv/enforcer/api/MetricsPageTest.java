package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.fake.SampleCycles;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The table of {@code metrics.md} lists the metrics that the service registers. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(TokenProtectedNode.class)
class MetricsPageTest {
    private static final Path PAGE = Path.of("src/site/markdown/metrics.md");
    private static final Pattern HEADER = Pattern.compile("(?m)^# (HELP|TYPE) (genv_enforcer_\\w+) (.*)$");
    private static final Pattern SAMPLE = Pattern.compile("(?m)^(genv_enforcer_\\w+)\\{(.*)} [^ ]+$");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"(?:[^\"\\\\]|\\\\.)*\"");
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
        var text = exported();
        var meanings = headers(text, "HELP");
        var table = new StringBuilder("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
        var types = headers(text, "TYPE");
        types.forEach((family, type) -> {
            var name = nameOf(family, type);
            table.append("| `%s` | %s | %s | %s |\n".formatted(name, type, labels(text, name), meanings.get(family)));
        });
        assertThat(types).hasSizeGreaterThan(FEWEST);
        GeneratedSection.assertSection(PAGE, "metrics", table.toString());
    }

    /** The service answers once it has read the token. */
    private String exported() throws IOException {
        var http = new RawHttp(port);
        var token = "Authorization: Bearer " + TokenProtectedNode.TOKEN;
        await().atMost(HANG).until(() -> http.get("/q/metrics", token).status() == 200);
        return http.get("/q/metrics", token).text().replace("\r", "");
    }

    /** In OpenMetrics a counter's family has no suffix, but its samples have one. */
    private static String nameOf(String family, String type) {
        return type.equals("counter") && !family.endsWith("_total") ? family + "_total" : family;
    }

    private static Map<String, String> headers(String text, String kind) {
        return HEADER.matcher(text)
                .results()
                .filter(header -> header.group(1).equals(kind))
                .collect(Collectors.toMap(
                        header -> header.group(2), header -> header.group(3), (one, _) -> one, TreeMap::new));
    }

    /** The names of the labels of a metric; the samples of a timer or histogram have its name and a suffix. */
    private static String labels(String text, String metric) {
        return SAMPLE.matcher(text)
                .results()
                .filter(sample ->
                        sample.group(1).replaceFirst("_(bucket|count|sum)$", "").equals(metric))
                .flatMap(sample -> LABEL.matcher(sample.group(2)).results())
                .map(label -> label.group(1))
                .filter(label -> !label.equals("le"))
                .map("`%s`"::formatted)
                .collect(Collectors.collectingAndThen(
                        Collectors.toCollection(TreeSet::new),
                        labels -> labels.isEmpty() ? "–" : String.join(", ", labels)));
    }
}
