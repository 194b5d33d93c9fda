package dev.genv.enforcer.telemetry.genv;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.model.problem.ProblemCode;
import io.prometheus.client.Collector;
import io.prometheus.client.Collector.MetricFamilySamples.Sample;
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
public final class GenvCollector extends Collector implements Collector.Describable {
    /** The label that genv gives to each metric of a machine over SSH. */
    private static final String HOSTNAME = "hostname";

    private final boolean includesEntities;
    private final boolean isRemote;
    private volatile @Nullable CycleReport last;

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

    /** Takes the series of a cycle in place of those before. */
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
