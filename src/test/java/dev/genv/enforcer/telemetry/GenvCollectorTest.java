package dev.genv.enforcer.telemetry;

import static dev.genv.enforcer.model.SnapshotPart.ATTACHMENTS;
import static dev.genv.enforcer.model.SnapshotPart.ENVIRONMENTS;
import static dev.genv.enforcer.model.SnapshotPart.EVERY_ENVIRON;
import static dev.genv.enforcer.model.SnapshotPart.EVERY_PROCESS;
import static dev.genv.enforcer.model.SnapshotPart.PROCESSES;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.prometheus.client.CollectorRegistry;
import io.prometheus.client.exporter.common.TextFormat;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The same machine gives the same metrics as genv's own monitoring, which was recorded; what users determine is bounded. */
class GenvCollectorTest {
    private static final Path PAGE = Path.of("src/site/markdown/metrics.md");
    private static final String OMITTED = "genv_enforcer_genv_series_omitted{host=\"gpu-1\"}";

    private final FakeHost machine = GenvMetricsFixture.used("gpu-1");
    private final GenvMetricsFixture metrics = new GenvMetricsFixture(GenvMetrics.ALL, true, machine);

    @Test
    void seriesOfAMachineThatIsNotReachedOrRemovedDisappear() throws IOException {
        var other = GenvMetricsFixture.used("gpu-2");
        metrics.hosts.add(other);
        assertThat(metrics.afterCycle().samples().keySet()).anyMatch(series -> series.contains("gpu-2"));
        other.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
        assertThat(metrics.afterCycle().samples().keySet())
                .noneMatch(series -> series.contains("gpu-2"))
                .anyMatch(series -> series.contains("gpu-1"));
        metrics.hosts.removeAll(List.copyOf(metrics.hosts));
        assertThat(metrics.afterCycle().samples()).isEmpty();
    }

    @Test
    void whatIsNotKnownHasNoSeries() throws IOException {
        machine.setStatus(
                null,
                List.of(
                        new DeviceStatus(0, null, 5, null, Memory.ofMebibytes(1), null, null),
                        new DeviceStatus(1, null, null, null, null, null, null)));
        machine.setSnapshot(host("gpu-1").devices(1).with(process(7).usesUnknown(0)));
        assertThat(metrics.afterCycle().samples().keySet())
                .filteredOn(series -> series.startsWith("genv_device") || series.startsWith("genv_is"))
                .containsExactly(
                        "genv_device_memory_total_bytes{hostname=\"gpu-1\",index=\"0\"}",
                        "genv_device_utilization{hostname=\"gpu-1\",index=\"0\"}");
        assertThat(metrics.scrape().samples())
                .containsEntry("genv_process_devices_total{eid=\"\",hostname=\"gpu-1\",pid=\"7\"}", 1.0)
                .doesNotContainKey(
                        "genv_process_used_gpu_memory_bytes{device=\"0\",eid=\"\",hostname=\"gpu-1\",pid=\"7\"}");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "EXEMPT_USERS")
    void aMissingPartHasNoSeries(SnapshotPart part) throws IOException {
        machine.setSnapshot(host("gpu-1")
                .devices(1)
                .missing(part)
                .with(env("a").user("alice").attached(0))
                .with(process(7).inEnvironment("a").uses(0)));
        var absent = switch (part) {
            case PROCESSES, EVERY_PROCESS ->
                List.of("genv_processes_total", "genv_environment_processes_total", "genv_user_processes_total");
            case EVERY_ENVIRON -> List.of("genv_environment_processes_total", "genv_user_processes_total");
            case ENVIRONMENTS ->
                List.of(
                        "genv_environments_total",
                        "genv_users_total",
                        "genv_attached_devices_total",
                        "genv_environment_processes_total",
                        "genv_environment_attached_devices_total",
                        "genv_user_environments_total",
                        "genv_user_processes_total",
                        "genv_user_attached_devices_total");
            case ATTACHMENTS ->
                List.of(
                        "genv_attached_devices_total",
                        "genv_environment_attached_devices_total",
                        "genv_user_attached_devices_total");
            case EXEMPT_USERS -> throw new IllegalArgumentException("no series depends on it");
        };
        assertThat(metrics.afterCycle().types().keySet())
                .doesNotContainAnyElementsOf(absent)
                .contains("genv_process_devices_total", "genv_device_temperature");
    }

    @Test
    void leavesOutWhatExceedsTheLimitAndCountsIt() throws IOException {
        var environments = IntStream.range(0, 2000)
                .mapToObj(number -> env("idle-%04d".formatted(number)).withoutUsername());
        machine.setSnapshot(host("gpu-1")
                .devices(1)
                .with(environments.toArray(EnvBuilder[]::new))
                .with(env("used").user("zoe").attached(0))
                .with(process(7).inEnvironment("used").uses(0)));
        var exported = metrics.afterCycle();
        // One process has two series, an environment two, a user three. The last one does not fit into the rest, one.
        assertThat(exported.samples().keySet())
                .filteredOn(series -> series.matches(".*(pid|eid|username)=.*"))
                .hasSize(GenvSeries.MOST_OF_HOST)
                .anyMatch(series -> series.contains("eid=\"used\""))
                .anyMatch(series -> series.contains("idle-0000"))
                .noneMatch(series -> series.contains("idle-1999"));
        assertThat(exported.samples())
                .containsEntry(OMITTED, 2 + 2 * 2001 + 3.0 - GenvSeries.MOST_OF_HOST)
                .containsEntry("genv_environments_total{hostname=\"gpu-1\"}", 2001.0);
    }

    @Test
    void namesThatUsersChoseAreEscapedAndBounded() throws IOException {
        var hostile = "x\"} 1\n# TYPE genv_is_installed counter\n\\\r\u0000\u202e" + "😀".repeat(100);
        machine.setSnapshot(host("gpu-1")
                .devices(1)
                .with(env(hostile).user(hostile).attached(0))
                .with(process(7).inEnvironment(hostile).uses(0)));
        metrics.afterCycle();
        for (var type : List.of(TextFormat.CONTENT_TYPE_004, TextFormat.CONTENT_TYPE_OPENMETRICS_100)) {
            var lines = metrics.text(type).lines().toList();
            assertThat(lines)
                    .allSatisfy(line -> assertThat(line)
                            .matches("# (HELP|TYPE) .*|# EOF|genv_\\w+(\\{(\\w+=\"([^\"\\\\]|\\\\[\\\\n"
                                    + "\"])*\",?)*})? \\S+")
                            .hasSizeLessThan(400));
            assertThat(lines)
                    .filteredOn(line -> line.startsWith("# TYPE genv_is_installed"))
                    .hasSize(1);
        }
    }

    @Test
    void namesThatAreEqualAfterTheyAreShortenedAreOneSeries() throws IOException {
        var longName = "n".repeat(200);
        machine.setSnapshot(host("gpu-1")
                .devices(1)
                .with(env(longName + "1").withoutUsername(), env(longName + "2").withoutUsername()));
        assertThat(metrics.afterCycle().samples()).containsEntry(OMITTED, 2.0);
    }

    @ParameterizedTest
    @CsvSource({"0, 1000", "1, 1000", "30, 1000", "31, 967", "100, 300", "1000, 30", "100000, 0"})
    void allHostsHaveTheSameShare(int hosts, int limit) {
        assertThat(GenvSeries.mostOf(hosts)).isEqualTo(limit);
    }

    @Test
    void nodeExportsWhatGenvMonitorExports() throws IOException {
        var node = new GenvMetricsFixture(GenvMetrics.ALL, false, machine);
        assertThat(node.afterCycle().ofGenv()).isEqualTo(GenvMetricsFixture.recorded("local.txt"));
    }

    @Test
    void fleetExportsWhatGenvRemoteMonitorExports() throws IOException {
        metrics.hosts.add(GenvMetricsFixture.unused("gpu-2"));
        assertThat(metrics.afterCycle().ofGenv()).isEqualTo(GenvMetricsFixture.recorded("remote.txt"));
    }

    @Test
    void hostsAloneHaveNoSeriesOfProcessesEnvironmentsAndUsers() throws IOException {
        var hosts = new GenvMetricsFixture(GenvMetrics.HOSTS, true, machine, GenvMetricsFixture.unused("gpu-2"));
        var recorded = GenvMetricsFixture.recorded("remote.txt").samples();
        recorded.keySet().removeIf(series -> series.matches(".*[{,](pid|eid|username)=.*"));
        assertThat(hosts.afterCycle().samples()).isEqualTo(recorded);
    }

    @Test
    void thePageListsEachOfGenvsMetrics() throws IOException {
        var recorded = GenvMetricsFixture.recorded("local.txt").descriptions();
        var rows = new TreeMap<String, String>();
        for (var metric : GenvMetric.values()) {
            var name = metric.family(List.of()).name;
            var labels = metric.labels().stream().map("`%s`"::formatted).collect(Collectors.joining(", "));
            if (recorded.containsKey(name)) {
                rows.put(
                        name,
                        "| `%s` | %s | %s |\n".formatted(name, labels.isEmpty() ? "–" : labels, recorded.get(name)));
            }
        }
        GeneratedSection.assertSection(
                PAGE,
                "genv metrics",
                "| metric | labels | meaning |\n| --- | --- | --- |\n" + String.join("", rows.values()));
    }

    /** A collector that is fed by cycles over hosts, the machines of {@code record.py}, and what genv exported for them. */
    private static final class GenvMetricsFixture {
        private static final Path FOLDER = Path.of("src/test/resources/genv-metrics");

        final List<Host> hosts = new ArrayList<>();
        private final CollectorRegistry registry = new CollectorRegistry();
        private final Enforcer enforcer;

        GenvMetricsFixture(GenvMetrics metrics, boolean isRemote, Host... hosts) {
            this.hosts.addAll(List.of(hosts));
            var collector = new GenvCollector(metrics, isRemote);
            registry.register(collector);
            enforcer = EnforcerFactory.create(
                    EnforcerConfigBuilder.enforcerConfig(() -> List.copyOf(this.hosts))
                            .remote(isRemote)
                            .build(),
                    NoStore.records(new ViolationRegistry(10)),
                    Ticker.ofSystem(),
                    List.of(collector));
        }

        /** Runs a cycle. */
        Exposition afterCycle() throws IOException {
            enforcer.runCycle();
            return scrape();
        }

        Exposition scrape() throws IOException {
            return Exposition.parse(text(TextFormat.CONTENT_TYPE_004));
        }

        String text(String contentType) throws IOException {
            var text = new StringWriter();
            TextFormat.writeFormat(contentType, text, registry.metricFamilySamples());
            return text.toString();
        }

        static Exposition recorded(String file) throws IOException {
            return Exposition.parse(Files.readString(FOLDER.resolve(file)));
        }

        static FakeHost used(String name) {
            return new FakeHost(host(name)
                            .devices(4)
                            .with("env a uid 1001 of alice on 0", "env b uid 1001 of alice on 0,1")
                            .with("env c uid 1002 of bob", "env d uid 0 unnamed on 2")
                            .with("process 100 in a on 0=1542mi", "process 101 in b on 0=100mi,1=200mi")
                            .with("process 102 on 2=28mi", "process 103 in gone on 3=7mi"))
                    .setStatus(
                            true,
                            List.of(
                                    status(0, 61, 87, 1700, 16384),
                                    status(1, 48, 12, 220, 16384),
                                    status(2, 35, 0, 28, 16384),
                                    status(3, 36, 1, 9, 16384)));
        }

        static FakeHost unused(String name) {
            return new FakeHost(host(name).devices(1)).setStatus(false, List.of(status(0, 40, 5, 0, 24576)));
        }

        static DeviceStatus status(int index, int temperature, int utilization, long used, long total) {
            return new DeviceStatus(
                    index, temperature, utilization, Memory.ofMebibytes(used), Memory.ofMebibytes(total), null, null);
        }
    }
}
