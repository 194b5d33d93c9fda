package dev.genv.enforcer.config;

import dev.genv.enforcer.api.stream.EventStreams;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.telemetry.ActionMetrics;
import dev.genv.enforcer.telemetry.CycleMetrics;
import dev.genv.enforcer.telemetry.HostMetrics;
import dev.genv.enforcer.telemetry.RequestLabels;
import dev.genv.enforcer.telemetry.ViolationMetrics;
import dev.genv.enforcer.telemetry.genv.GenvCollector;
import dev.genv.enforcer.telemetry.genv.GenvMetrics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.prometheus.client.CollectorRegistry;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Creates the metrics. */
@Singleton
class MetricsWiring {
    private final Settings settings;
    private final MeterRegistry registry;
    private final CollectorRegistry collectors;
    private final EventStreams streams;

    MetricsWiring(Settings settings, MeterRegistry registry, CollectorRegistry collectors, EventStreams streams) {
        this.settings = settings;
        this.registry = registry;
        this.collectors = collectors;
        this.streams = streams;
    }

    /** Of Quarkus's own bean, each injection point gets another instance, and only one of them is exported. */
    @Produces
    @Singleton
    static CollectorRegistry collectors() {
        return new CollectorRegistry();
    }

    @Produces
    @Singleton
    static MeterFilter requestLabels() {
        return new RequestLabels();
    }

    /** Registers all metrics, and returns those that take their values from each cycle. */
    List<Consumer<CycleReport>> listeners(ViolationRegistry violations) {
        countReaders();
        var listeners = new ArrayList<Consumer<CycleReport>>(List.of(
                new CycleMetrics(registry)::record,
                new HostMetrics(registry)::record,
                new ViolationMetrics(registry, violations)::record,
                new ActionMetrics(registry)::record));
        if (settings.general().genvMetrics() != GenvMetrics.OFF) {
            var collector = new GenvCollector(settings.general().genvMetrics(), settings.isRemote());
            collectors.register(collector);
            listeners.add(collector::record);
        }
        return listeners;
    }

    private void countReaders() {
        Gauge.builder("genv.enforcer.stream.readers", streams, EventStreams::following)
                .description("Clients that follow the events")
                .register(registry);
        FunctionCounter.builder("genv.enforcer.stream.readers.refused", streams, EventStreams::refused)
                .description("Clients that were refused because too many follow the events")
                .register(registry);
    }
}
