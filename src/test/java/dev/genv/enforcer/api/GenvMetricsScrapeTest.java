package dev.genv.enforcer.api;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A scrape has genv's metrics in both formats. Quarkus answers in the text format to every client that accepts it, as Prometheus does. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(TokenProtectedNode.class)
class GenvMetricsScrapeTest {
    @Inject
    Enforcer enforcer;

    @ConfigProperty(name = "quarkus.management.port")
    int port;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "text/plain;version=0.0.4|text/plain",
                "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1|text/plain",
                "*/*|application/openmetrics-text"
            })
    void hasGenvsMetricsInThisFormat(String accepted, String type) throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var job = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            new StateFiles(Files.createDirectories(TokenProtectedNode.STATE))
                    .ownEnv("a", null, shell.pid())
                    .device(0, "a")
                    .write();
            new FakeNvidiaSmi(TokenProtectedNode.TOOLS)
                    .noProcesses()
                    .gpus(1)
                    .status("0, 1700, 16384, 61, [N/A]\n")
                    .process(0, job.pid(), "1542");
            enforcer.runCycle();
            var answer = scrape(accepted);
            assertThat(answer.head().toLowerCase(Locale.ROOT)).contains("content-type: " + type);
            var recorded = Exposition.parse(Files.readString(Path.of("src/test/resources/genv-metrics/local.txt")));
            var exported = Exposition.parse(answer.text()).ofGenv();
            assertThat(recorded.types()).containsAllEntriesOf(exported.types());
            assertThat(recorded.descriptions()).containsAllEntriesOf(exported.descriptions());
            assertThat(recorded.types().keySet())
                    .as("all but the one that is not known")
                    .hasSize(exported.types().size() + 1);
            assertThat(exported.samples())
                    .containsEntry("genv_is_installed", 1.0)
                    .containsEntry("genv_environments_total", 1.0)
                    .containsEntry("genv_device_memory_used_bytes{index=\"0\"}", 1700.0 * (1 << 20))
                    .containsEntry("genv_device_temperature{index=\"0\"}", 61.0)
                    .containsEntry("genv_process_devices_total{eid=\"a\",pid=\"%d\"}".formatted(job.pid()), 1.0)
                    .doesNotContainKey("genv_device_utilization{index=\"0\"}");
        }
    }

    @Test
    void theServiceLimitsTheSeries() throws IOException {
        enforcer.runCycle();
        assertThat(Exposition.parse(scrape("*/*").text()).types())
                .containsEntry("genv_enforcer_genv_series_omitted", "gauge");
    }

    /** The service answers once it has read the token. */
    private RawHttp.Answer scrape(String accepted) throws IOException {
        var http = new RawHttp(port);
        var token = "Authorization: Bearer " + TokenProtectedNode.TOKEN;
        await().atMost(HANG).until(() -> http.get("/q/metrics", token).status() == 200);
        return http.get("/q/metrics", token, "Accept: " + accepted);
    }
}
