package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.chart.ChartQueries;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.SampleCycles;
import io.micrometer.core.instrument.MeterRegistry;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The queries of the chart's alerts and dashboard use metrics of the service, and their labels. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(TokenProtectedNode.class)
class ChartMetricsTest {
    private static final Pattern SAMPLE = Pattern.compile("(?m)^([a-zA-Z_:]\\w*)(?:\\{(.*)})? [^ ]+$");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=\"(?:[^\"\\\\]|\\\\.)*\"");

    @ConfigProperty(name = "quarkus.management.port")
    int port;

    @Inject
    Enforcer enforcer;

    @Inject
    MeterRegistry registry;

    @Test
    void everyMetricOfAlertsAndDashboardExists() throws IOException {
        new FakeNvidiaSmi(TokenProtectedNode.TOOLS).gpus(1).status("0, 1, 16384, 40, 0\n");
        enforcer.runCycle();
        SampleCycles.record(registry);
        var http = new RawHttp(port);
        var token = "Authorization: Bearer " + TokenProtectedNode.TOKEN;
        // The service reads the token in its own thread, and refuses all requests until then.
        await().atMost(HANG).until(() -> http.get("/q/metrics", token).status() == 200);
        var answer = http.get("/q/metrics", token);
        var exported = metrics(answer.text());
        var pending = ChartQueries.metrics();
        assertThat(exported.keySet()).containsAll(pending.keySet());
        pending.forEach(
                (metric, labels) -> assertThat(exported.get(metric)).as(metric).containsAll(labels));
    }

    private static Map<String, Set<String>> metrics(String text) {
        var found = new TreeMap<String, Set<String>>();
        SAMPLE.matcher(text.replace("\r", "")).results().forEach(sample -> {
            var labels = found.computeIfAbsent(sample.group(1), _ -> new TreeSet<>());
            if (sample.group(2) != null) {
                LABEL.matcher(sample.group(2)).results().forEach(label -> labels.add(label.group(1)));
            }
        });
        return found;
    }
}
