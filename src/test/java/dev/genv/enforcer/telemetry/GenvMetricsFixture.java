package dev.genv.enforcer.telemetry;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
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

/** A collector that is fed by cycles over hosts, the machines of {@code record.py}, and what genv exported for them. */
final class GenvMetricsFixture {
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
                        .with(
                                env("a").uid(1001).user("alice").attached(0),
                                env("b").uid(1001).user("alice").attached(0, 1),
                                env("c").uid(1002).user("bob"),
                                env("d").uid(0).withoutUsername().attached(2))
                        .with(
                                process(100).inEnvironment("a").uses(0, "1542mi"),
                                process(101).inEnvironment("b").uses(0, "100mi").uses(1, "200mi"),
                                process(102).uses(2, "28mi"),
                                process(103).inEnvironment("gone").uses(3, "7mi")))
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
