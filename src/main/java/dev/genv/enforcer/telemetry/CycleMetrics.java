package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Rules;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** The metrics of the cycles, their actions and the violations. */
@Singleton
public final class CycleMetrics implements CycleListener {
    private static final double MILLIS_PER_SECOND = 1000.0;
    private static final String SKIPPED = "skipped_";
    /** The outcomes of actions that the settings forbid. */
    private static final Set<Outcome> FORBIDDEN =
            EnumSet.of(Outcome.SKIPPED_AUDIT, Outcome.SKIPPED_PROTECTED, Outcome.SKIPPED_EXEMPT);

    private final Timer duration;
    private final MeterRegistry registry;
    private final ViolationRegistry violations;
    private volatile Map<ViolationKind, Long> active = Map.of();
    private volatile Map<RuleDefinition, Long> oldestSeconds = Map.of();
    private volatile long lastSuccessMillis;

    private record ViolationKind(RuleDefinition rule, RuleMode mode) {
        static ViolationKind of(ViolationRecord entry) {
            return new ViolationKind(entry.violation().rule(), entry.mode());
        }

        Tags tags() {
            return Tags.of("rule", rule.name(), "mode", mode.name().toLowerCase(Locale.ROOT));
        }
    }

    /** Registers all series at once, so that a result that never occurred and a rule without violations are exported as zero. */
    public CycleMetrics(MeterRegistry registry, ViolationRegistry violations) {
        this.registry = registry;
        this.violations = violations;
        duration = Timer.builder("genv.enforcer.cycle.duration")
                .description("Duration of a cycle, from its first observation to its last action")
                .serviceLevelObjectives(LongStream.of(10, 50, 100, 500, 1000, 5000, 10_000, 30_000)
                        .mapToObj(Duration::ofMillis)
                        .toArray(Duration[]::new))
                .register(registry);
        for (var result : CycleResult.values()) {
            var _ = cycles(result);
        }
        Gauge.builder("genv.enforcer.last.success.timestamp", () -> lastSuccessMillis / MILLIS_PER_SECOND)
                .description("End of the last complete cycle, in seconds since 1970; 0 if there was none")
                .baseUnit("seconds")
                .register(registry);
        for (var rule : Rules.definitions()) {
            Gauge.builder("genv.enforcer.oldest.violation", () -> oldestSeconds.getOrDefault(rule, 0L))
                    .description(
                            "Age of the oldest active violation of an enforced rule; 0 if there is none. A violation of"
                                    + " which only protected or exempt processes are left does not count")
                    .tags("rule", rule.name())
                    .baseUnit("seconds")
                    .register(registry);
            for (var mode : List.of(RuleMode.AUDIT, RuleMode.ENFORCE)) {
                var kind = new ViolationKind(rule, mode);
                var _ = appeared(kind);
                // Prometheus uses the name genv_enforcer_violations for the counter, so the gauge needs another one.
                Gauge.builder("genv.enforcer.active.violations", () -> active.getOrDefault(kind, 0L))
                        .description("Active violations")
                        .tags(kind.tags())
                        .register(registry);
            }
        }
    }

    @Override
    public void accept(CycleReport report) {
        duration.record(report.duration());
        cycles(report.result()).increment();
        if (report.isComplete()) {
            lastSuccessMillis = report.startedAt().plus(report.duration()).toEpochMilli();
        }
        report.actions().forEach(this::count);
        active = violations.find(ViolationRecord::active, Integer.MAX_VALUE).stream()
                .collect(Collectors.groupingBy(ViolationKind::of, Collectors.counting()));
        oldestSeconds = violations.find(CycleMetrics::isToBeEnded, Integer.MAX_VALUE).stream()
                .collect(Collectors.toMap(
                        entry -> entry.violation().rule(),
                        entry -> Duration.between(entry.firstSeen(), entry.lastSeen())
                                .toSeconds(),
                        Math::max));
        report.appeared().forEach(entry -> appeared(ViolationKind.of(entry)).increment());
    }

    /** Whether it is active, and the settings want the service to end it. */
    private static boolean isToBeEnded(ViolationRecord entry) {
        var latest = entry.actions().stream()
                .collect(Collectors.toMap(ActionNote::target, ActionNote::outcome, (_, later) -> later));
        return entry.active()
                && entry.mode() == RuleMode.ENFORCE
                && (latest.isEmpty() || !FORBIDDEN.containsAll(latest.values()));
    }

    private Counter cycles(CycleResult result) {
        return counter("cycles", "Cycles by result", Tags.of("result", result.label()));
    }

    private Counter appeared(ViolationKind kind) {
        return counter("violations", "Violations since the start", kind.tags());
    }

    /** Counts an executed, failed or skipped action. */
    private void count(ActionRecord done) {
        var outcome = done.result().outcome();
        if (outcome.isSkipped()) {
            var reason = outcome.name().toLowerCase(Locale.ROOT).substring(SKIPPED.length());
            counter("skipped", "Actions that the service skipped, counted in every cycle", Tags.of("reason", reason))
                    .increment();
            return;
        }
        var tags = Tags.of("outcome", outcome.label());
        var counter = switch (done.planned().action()) {
            case Action.Terminate terminate ->
                counter(
                        "terminations",
                        "Terminations by outcome and by the first rule that requires them",
                        tags.and("signal", terminate.signal().name())
                                .and("rule", done.planned().rules().getFirst().name()));
            case Action.Detach _ -> counter("detachments", "Detachments by outcome", tags);
        };
        counter.increment();
    }

    private Counter counter(String name, String description, Tags tags) {
        return Counter.builder("genv.enforcer." + name)
                .description(description)
                .tags(tags)
                .register(registry);
    }
}
