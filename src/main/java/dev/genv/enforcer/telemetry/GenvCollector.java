package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.telemetry.GenvSeries.Series;
import io.prometheus.client.Collector;
import io.prometheus.client.Collector.MetricFamilySamples.Sample;
import io.prometheus.client.CollectorRegistry;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The metrics that {@code genv monitor} (genv 1.4.3) exports, computed from the last cycle at each scrape. Micrometer would take the
 * suffix from the gauges whose names end in {@code _total}, so they are collected by Prometheus' own client.
 */
@Singleton
public final class GenvCollector extends Collector implements Collector.Describable, CycleListener {
    /** The label that genv gives to each metric of a machine over SSH. */
    private static final String HOSTNAME = "hostname";

    private final boolean includesEntities;
    private final boolean isRemote;
    private volatile @Nullable CycleReport last;

    @Inject
    GenvCollector(GenvMetrics metrics, EnforcerConfig config, CollectorRegistry registry) {
        this(metrics, config.remote());
        if (metrics != GenvMetrics.OFF) {
            registry.register(this);
        }
    }

    /**
     * Creates a collector without series, for metrics other than {@link GenvMetrics#OFF}, of the node or of machines over SSH.
     */
    public GenvCollector(GenvMetrics metrics, boolean isRemote) {
        includesEntities = metrics == GenvMetrics.ALL;
        this.isRemote = isRemote;
    }

    /** Of Quarkus's own bean, each injection point gets another instance, and only one of them is exported. */
    @Produces
    @Singleton
    static CollectorRegistry registry() {
        return new CollectorRegistry();
    }

    /** Takes the series of a cycle in place of those before. */
    @Override
    public void accept(CycleReport report) {
        last = report; // a failed cycle has no data of hosts, so it has no series
    }

    @Override
    public List<MetricFamilySamples> collect() {
        var samples = new EnumMap<GenvMetric, List<Sample>>(GenvMetric.class);
        var report = last;
        var all = report == null ? List.<Snapshot>of() : report.fleet().snapshots();
        var hosts = all.stream()
                .filter(host -> host.isReached() && !host.isDuplicate()) // it has the same series under its other name
                .toList();
        for (var host : hosts) {
            add(host, GenvSeries.ofHost(host), samples);
            if (includesEntities) {
                add(host, GenvSeries.ofEntities(host, GenvSeries.mostOf(hosts.size())), samples);
            }
        }
        return samples.entrySet().stream()
                .map(family -> family.getKey().family(family.getValue()))
                .toList();
    }

    private void add(Snapshot host, List<Series> all, Map<GenvMetric, List<Sample>> samples) {
        for (var series : all) {
            var metric = series.metric();
            var isNamed = isRemote && metric != GenvMetric.OMITTED;
            var names = isNamed ? withFirst(HOSTNAME, metric.labels()) : metric.labels();
            var values = isNamed ? withFirst(GenvSeries.label(host.host()), series.labels()) : series.labels();
            samples.computeIfAbsent(metric, _ -> new ArrayList<>())
                    .add(new Sample(metric.exposedName, names, values, series.value()));
        }
    }

    private static List<String> withFirst(String first, List<String> others) {
        return Stream.concat(Stream.of(first), others.stream()).toList();
    }

    /** The names, so that no other collector can take them. */
    @Override
    public List<MetricFamilySamples> describe() {
        return Stream.of(GenvMetric.values())
                .map(metric -> metric.family(List.of()))
                .toList();
    }

    /** Which of genv's own metrics are exported. */
    public enum GenvMetrics {
        OFF,
        /** Those of machines and devices, whose number is known. */
        HOSTS,
        /** Also those with labels that users choose, or whose number grows with the number of processes. */
        ALL
    }

    /** A metric, as {@code genv/metrics/specs.py} of genv 1.4.3 defines it. Each is a gauge, also if its name ends in {@code _total}. */
    enum GenvMetric {
        IS_INSTALLED("genv_is_installed", "Genv installation status"),
        DEVICE_TEMPERATURE("genv_device_temperature", "Device temperature in degrees C", "index"),
        DEVICE_UTILIZATION("genv_device_utilization", "Device utilization", "index"),
        DEVICE_MEMORY_USED("genv_device_memory_used_bytes", "Device used memory in bytes", "index"),
        DEVICE_MEMORY_TOTAL("genv_device_memory_total_bytes", "Device total memory in bytes", "index"),
        ENVIRONMENTS("genv_environments_total", "Number of active environments"),
        PROCESSES("genv_processes_total", "Number of running processes"),
        ATTACHED_DEVICES("genv_attached_devices_total", "Number of attached devices"),
        USERS("genv_users_total", "Number of active users"),
        ENVIRONMENT_PROCESSES(
                "genv_environment_processes_total", "Number of running processes in an environment", "eid"),
        ENVIRONMENT_ATTACHED_DEVICES(
                "genv_environment_attached_devices_total", "Number of attached devices of an environment", "eid"),
        PROCESS_DEVICES("genv_process_devices_total", "Number of devices used by a process", "pid", "eid"),
        PROCESS_USED_GPU_MEMORY(
                "genv_process_used_gpu_memory_bytes", "Used GPU memory by a process", "pid", "eid", "device"),
        USER_ENVIRONMENTS("genv_user_environments_total", "Number of active environments of a user", "username"),
        USER_PROCESSES("genv_user_processes_total", "Number of running processes of a user", "username"),
        USER_ATTACHED_DEVICES("genv_user_attached_devices_total", "Number of attached devices of a user", "username"),
        /** Not one of genv's: genv exports any number of series. */
        OMITTED(
                "genv_enforcer_genv_series_omitted",
                "Series of genv's metrics that are not exported, because the host has more than the limit",
                "host");

        private final String exposedName;
        private final String description;

        @SuppressWarnings("ImmutableEnumChecker") // List.of
        private final List<String> labels;

        GenvMetric(String exposedName, String description, String... labels) {
            this.exposedName = exposedName;
            this.description = description;
            this.labels = List.of(labels);
        }

        /** The names of its labels, without the one for the machine. */
        List<String> labels() {
            return labels;
        }

        /** Returns the samples with the type and the description. */
        MetricFamilySamples family(List<Sample> samples) {
            return new MetricFamilySamples(exposedName, Type.GAUGE, description, samples);
        }
    }
}
