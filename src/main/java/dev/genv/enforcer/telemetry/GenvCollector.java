package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import io.prometheus.client.Collector;
import io.prometheus.client.Collector.MetricFamilySamples.Sample;
import io.prometheus.client.CollectorRegistry;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
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
    public void record(CycleReport report) {
        last = report; // a failed cycle has no data of hosts, so it has no series
    }

    @Override
    public List<MetricFamilySamples> collect() {
        var report = last;
        var samples = new EnumMap<GenvMetric, List<Sample>>(GenvMetric.class);
        if (report != null) {
            var hosts = report.fleet().snapshots().stream()
                    .filter(host ->
                            host.isReached() && !host.isDuplicate()) // it has the same series under its other name
                    .toList();
            var limit = SeriesLimit.ofEachHost(hosts.size());
            hosts.forEach(host -> add(host, limit, samples));
        }
        return samples.entrySet().stream()
                .map(family -> family.getKey().family(family.getValue()))
                .toList();
    }

    private void add(Snapshot host, int limit, Map<GenvMetric, List<Sample>> samples) {
        HostSeries.of(host).forEach(series -> add(host, series, samples));
        if (includesEntities) {
            var kept = SeriesLimit.keep(EntitySeries.of(host), limit);
            kept.series().forEach(series -> add(host, series, samples));
            var omitted = new Series(GenvMetric.OMITTED, List.of(Series.label(host.host())), kept.omitted());
            add(host, omitted, samples);
        }
    }

    private void add(Snapshot host, Series series, Map<GenvMetric, List<Sample>> samples) {
        var metric = series.metric();
        var isNamed = isRemote && metric != GenvMetric.OMITTED;
        var names = isNamed ? withFirst(HOSTNAME, metric.labels()) : metric.labels();
        var values = isNamed ? withFirst(Series.label(host.host()), series.labels()) : series.labels();
        samples.computeIfAbsent(metric, _ -> new ArrayList<>()).add(metric.sample(names, values, series.value()));
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

    /** The value of a metric of one host, and the values of the metric's labels, in their order. */
    record Series(GenvMetric metric, List<String> labels, double value) {
        /** In characters, after the escapes: with the number of series it bounds the size of a scrape. */
        private static final int LONGEST_LABEL = 64;

        /** What both have if they would be the same series in a scrape, which must not contain a series twice. */
        List<Object> identity() {
            return List.of(metric, labels);
        }

        /** Returns text that users chose as the value of a label: without control characters and the like, and cut. */
        static String label(String text) {
            var escaped = SafeText.escape(text, LONGEST_LABEL);
            if (escaped.length() <= LONGEST_LABEL) {
                return escaped;
            }
            var last = escaped.charAt(LONGEST_LABEL - 1);
            return escaped.substring(0, Character.isHighSurrogate(last) ? LONGEST_LABEL - 1 : LONGEST_LABEL);
        }
    }

    /** Limits the series whose number users determine. The rest of a host is left out and counted. */
    static final class SeriesLimit {
        /** Enough for 8 devices with 40 processes each. */
        static final int MOST_OF_HOST = 1000;

        /** Of all hosts together; each host may have the same share. */
        static final int MOST = 30_000;

        private SeriesLimit() {}

        /** What is exported, and the number of series that are left out. */
        record Kept(List<Series> series, int omitted) {}

        static int ofEachHost(int hosts) {
            return Math.min(MOST_OF_HOST, MOST / Math.max(1, hosts));
        }

        /**
         * Keeps the first groups that fit, each of them whole. A series that another one equals after its labels were shortened is left out
         * too.
         */
        static Kept keep(List<List<Series>> groups, int limit) {
            var kept = new ArrayList<Series>();
            var seen = new HashSet<List<Object>>();
            var omitted = 0;
            for (var group : groups) {
                var isNew = group.stream().map(Series::identity).noneMatch(seen::contains);
                if (isNew && kept.size() + group.size() <= limit) {
                    group.stream().map(Series::identity).forEach(seen::add);
                    kept.addAll(group);
                } else {
                    omitted += group.size();
                }
            }
            return new Kept(kept, omitted);
        }
    }

    /** The series of a host and its devices. What was not observed has no series. */
    static final class HostSeries {
        private final List<Series> series = new ArrayList<>();

        private HostSeries() {}

        static List<Series> of(Snapshot host) {
            var all = new HostSeries();
            var hasGenv = host.details().hasGenv();
            all.add(GenvMetric.IS_INSTALLED, hasGenv == null ? null : hasGenv ? 1 : 0);
            host.details().devices().forEach(all::addDevice);
            all.addTotals(host);
            return all.series;
        }

        private void addDevice(DeviceStatus device) {
            var index = Integer.toString(device.index());
            add(GenvMetric.DEVICE_TEMPERATURE, device.temperature(), index);
            add(GenvMetric.DEVICE_UTILIZATION, device.utilization(), index);
            add(GenvMetric.DEVICE_MEMORY_USED, bytes(device.used()), index);
            add(GenvMetric.DEVICE_MEMORY_TOTAL, bytes(device.total()), index);
        }

        private void addTotals(Snapshot snapshot) {
            if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS)) {
                add(GenvMetric.PROCESSES, snapshot.processes().size());
            }
            if (snapshot.has(SnapshotPart.ENVIRONMENTS)) {
                add(GenvMetric.ENVIRONMENTS, snapshot.environments().size());
                add(GenvMetric.USERS, EntitySeries.users(snapshot).size());
            }
            if (snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
                var attached = snapshot.devices().stream()
                        .filter(device -> !device.attachments().isEmpty());
                add(GenvMetric.ATTACHED_DEVICES, attached.count());
            }
        }

        private static @Nullable Long bytes(@Nullable Memory memory) {
            return memory == null ? null : Long.valueOf(memory.bytes());
        }

        private void add(GenvMetric metric, @Nullable Number value, String... labels) {
            if (value != null) {
                series.add(new Series(metric, List.of(labels), value.doubleValue()));
            }
        }
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

        Sample sample(List<String> names, List<String> values, double value) {
            return new Sample(exposedName, names, values, value);
        }

        /** Returns the samples with the type and the description. */
        MetricFamilySamples family(List<Sample> samples) {
            return new MetricFamilySamples(exposedName, Type.GAUGE, description, samples);
        }
    }
}
