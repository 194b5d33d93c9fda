package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.fake.NoStore;
import io.prometheus.client.CollectorRegistry;
import io.prometheus.client.exporter.common.TextFormat;
import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;

/** A collector that is fed by cycles over hosts. */
final class GenvMetricsFixture {
    final List<Host> hosts = new ArrayList<>();
    private final CollectorRegistry registry = new CollectorRegistry();
    private final GenvCollector collector;
    private final Enforcer enforcer;

    GenvMetricsFixture(GenvMetrics metrics, boolean isRemote, Host... hosts) {
        this.hosts.addAll(List.of(hosts));
        collector = new GenvCollector(metrics, isRemote);
        registry.register(collector);
        enforcer = EnforcerFactory.create(
                EnforcerConfigBuilder.enforcerConfig(() -> List.copyOf(this.hosts))
                        .remote(isRemote)
                        .build(),
                NoStore.records(new ViolationRegistry(10)),
                Ticker.ofSystem(),
                List.of(collector));
    }

    GenvCollector collector() {
        return collector;
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
}
