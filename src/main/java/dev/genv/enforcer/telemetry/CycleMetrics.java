package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.report.CycleReport.CycleResult;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The metrics of the cycles. */
@Singleton
public final class CycleMetrics implements CycleListener {
    private static final double MILLIS_PER_SECOND = 1000.0;

    private final Timer duration;
    private final Map<CycleResult, Counter> cycles = new EnumMap<>(CycleResult.class);
    private final AtomicLong lastSuccessMillis = new AtomicLong();

    /** Registers all series at once, so that a result that never occurred is exported as zero. */
    public CycleMetrics(MeterRegistry registry) {
        duration = Timer.builder("genv.enforcer.cycle.duration")
                .description("Duration of a cycle, from its first observation to its last action")
                .serviceLevelObjectives(
                        Duration.ofMillis(10),
                        Duration.ofMillis(50),
                        Duration.ofMillis(100),
                        Duration.ofMillis(500),
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(30))
                .register(registry);
        for (var result : CycleResult.values()) {
            cycles.put(
                    result,
                    Counter.builder("genv.enforcer.cycles")
                            .description("Cycles by result")
                            .tag("result", result.label())
                            .register(registry));
        }
        Gauge.builder("genv.enforcer.last.success.timestamp", () -> lastSuccessMillis.get() / MILLIS_PER_SECOND)
                .description("End of the last complete cycle, in seconds since 1970; 0 if there was none")
                .baseUnit("seconds")
                .register(registry);
    }

    @Override
    public void record(CycleReport report) {
        duration.record(report.duration());
        var counter = cycles.get(report.result());
        if (counter != null) {
            counter.increment();
        }
        if (report.isComplete()) {
            lastSuccessMillis.set(report.startedAt().plus(report.duration()).toEpochMilli());
        }
    }
}
