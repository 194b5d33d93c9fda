package dev.genv.enforcer.telemetry.genv;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.model.problem.ProblemCode;
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
     * Creates a collector without series.
     *
     * @param metrics not {@link GenvMetrics#OFF}
     * @param isRemote whether the hosts are machines over SSH
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
            var hosts = report.hosts().stream().filter(GenvCollector::counts).toList();
            var limit = SeriesLimit.ofEachHost(hosts.size());
            hosts.forEach(host -> add(host, limit, samples));
        }
        return families(samples);
    }

    /** Another name of a machine has the same series again. */
    private static boolean counts(HostReport host) {
        return host.reached()
                && host.problems().stream().noneMatch(problem -> problem.code() == ProblemCode.DUPLICATE_HOST);
    }

    private void add(HostReport host, int limit, Map<GenvMetric, List<Sample>> samples) {
        HostSeries.of(host).forEach(series -> add(host, series, samples));
        if (includesEntities) {
            var kept = SeriesLimit.keep(EntitySeries.of(host.snapshot()), limit);
            kept.series().forEach(series -> add(host, series, samples));
            var omitted = List.of(LabelText.of(host.host()));
            add(samples, GenvMetric.OMITTED, GenvMetric.OMITTED.labels(), omitted, kept.omitted());
        }
    }

    private void add(HostReport host, Series series, Map<GenvMetric, List<Sample>> samples) {
        var names = series.metric().labels();
        if (isRemote) {
            add(
                    samples,
                    series.metric(),
                    withFirst(HOSTNAME, names),
                    withFirst(LabelText.of(host.host()), series.labels()),
                    series.value());
        } else {
            add(samples, series.metric(), names, series.labels(), series.value());
        }
    }

    private static void add(
            Map<GenvMetric, List<Sample>> samples,
            GenvMetric metric,
            List<String> names,
            List<String> values,
            double value) {
        samples.computeIfAbsent(metric, _ -> new ArrayList<>()).add(metric.sample(names, values, value));
    }

    private static List<String> withFirst(String first, List<String> others) {
        return Stream.concat(Stream.of(first), others.stream()).toList();
    }

    private static List<MetricFamilySamples> families(Map<GenvMetric, List<Sample>> samples) {
        return samples.entrySet().stream()
                .map(family -> family.getKey().family(family.getValue()))
                .toList();
    }

    /** The names, so that no other collector can take them. */
    @Override
    public List<MetricFamilySamples> describe() {
        return Stream.of(GenvMetric.values())
                .map(metric -> metric.family(List.of()))
                .toList();
    }
}
