package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.model.Snapshot;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The metrics of each host in the last cycle. The series of a host disappear when it leaves the list. */
@Singleton
public final class HostMetrics implements CycleListener {
    private static final double NANOS_PER_SECOND = Duration.ofSeconds(1).toNanos();

    private final LabelledGauge up;
    private final LabelledGauge complete;
    private final LabelledGauge observation;
    private final LabelledGauge processes;
    private final LabelledGauge devices;
    private final LabelledGauge environments;
    private final LabelledGauge missingPrivileges;
    private final LabelledGauge problems;
    private final Timer lockWait;

    public HostMetrics(MeterRegistry registry) {
        up = gauge(registry, "host.up", "1 if the host answered in the last cycle, else 0");
        complete = gauge(
                registry,
                "host.complete",
                "1 if the last cycle observed everything on the host, else 0. A failed cycle observed nothing");
        observation = new LabelledGauge(MultiGauge.builder("genv.enforcer.host.observation")
                .description("Duration of the last observation of the host, or of the wait for it")
                .baseUnit("seconds")
                .register(registry));
        processes = gauge(registry, "host.gpu.processes", "Processes on the host's devices in the last observation");
        devices = gauge(registry, "host.devices", "Devices that nvidia-smi lists on the host");
        environments = gauge(registry, "host.environments", "Active environments on the host");
        missingPrivileges = gauge(registry, "missing.privileges", "Hosts on which the service lacks this privilege");
        problems = gauge(registry, "host.problems", "Problems in the last observation of the host, by code");
        lockWait = Timer.builder("genv.enforcer.lock.wait")
                .description("Time that observations waited for genv's lock")
                .register(registry);
    }

    private static LabelledGauge gauge(MeterRegistry registry, String name, String description) {
        return new LabelledGauge(MultiGauge.builder("genv.enforcer." + name)
                .description(description)
                .register(registry));
    }

    @Override
    public void accept(CycleReport report) {
        var hosts = report.fleet().snapshots();
        if (hosts.isEmpty() && report.error() != null) {
            showFailure();
            return;
        }
        show(up, hosts, host -> host.isReached() ? 1 : 0);
        show(complete, hosts, host -> host.isObservedCompletely() ? 1 : 0);
        show(observation, hosts, host -> host.details().answer().duration().toNanos() / NANOS_PER_SECOND);
        show(processes, hosts, host -> host.processes().size());
        show(devices, hosts, host -> host.listedDevices().size());
        show(environments, hosts, host -> host.environments().size());
        missingPrivileges.show(counted(hosts.stream()
                .flatMap(host -> host.details().missingPrivileges().stream())
                .map(privilege -> Tags.of("privilege", privilege))));
        problems.show(counted(hosts.stream()
                .flatMap(host -> host.problems().stream()
                        .map(problem -> Tags.of(
                                "host", host.host(), "code", problem.code().label())))));
        hosts.stream()
                .map(host -> host.details().shown().lockWait())
                .filter(Objects::nonNull)
                .forEach(lockWait::record);
    }

    /** A failed cycle has no data of hosts, so the values of the last cycle are no longer true. */
    private void showFailure() {
        up.setAll(0);
        complete.setAll(0);
        processes.show(Map.of());
        devices.show(Map.of());
        environments.show(Map.of());
    }

    private static Map<Tags, Long> counted(Stream<Tags> labels) {
        return labels.collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    }

    private static void show(LabelledGauge gauge, List<Snapshot> hosts, ToDoubleFunction<Snapshot> value) {
        gauge.show(hosts.stream()
                .collect(Collectors.toMap(host -> Tags.of("host", host.host()), value::applyAsDouble)));
    }

    /** A gauge with a series for each set of labels. Only the thread of the cycle changes them. */
    static final class LabelledGauge {
        private final MultiGauge gauge;
        private final Map<Tags, Number> values = new ConcurrentHashMap<>();

        LabelledGauge(MultiGauge gauge) {
            this.gauge = gauge;
        }

        /** Sets the value of each series. */
        void setAll(Number value) {
            values.replaceAll((_, _) -> value);
        }

        /** Replaces all series. Those that remain are not registered again. */
        void show(Map<Tags, ? extends Number> now) {
            values.putAll(now);
            gauge.register(now.keySet().stream().map(this::row).toList());
            values.keySet().retainAll(now.keySet());
        }

        private Row<?> row(Tags labels) {
            return Row.of(labels, () -> values.getOrDefault(labels, Double.NaN));
        }
    }
}
