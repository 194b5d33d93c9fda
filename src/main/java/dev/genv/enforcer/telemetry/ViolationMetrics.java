package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.rule.Rules;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The number of active and of all violations, by rule and mode. */
@Singleton
public final class ViolationMetrics implements CycleListener {
    private final ViolationRegistry violations;
    private final Map<Kind, Counter> appeared = new HashMap<>();
    private volatile Map<Kind, Long> active = Map.of();

    private record Kind(RuleDefinition rule, RuleMode mode) {
        static Kind of(ViolationRecord entry) {
            return new Kind(entry.violation().rule(), entry.mode());
        }

        Tags tags() {
            return Tags.of("rule", rule.name(), "mode", mode.name().toLowerCase(Locale.ROOT));
        }
    }

    /** Registers all series at once, so that a rule without violations is exported as zero. */
    public ViolationMetrics(MeterRegistry registry, ViolationRegistry violations) {
        this.violations = violations;
        for (var rule : Rules.definitions()) {
            for (var mode : List.of(RuleMode.AUDIT, RuleMode.ENFORCE)) {
                var kind = new Kind(rule, mode);
                appeared.put(
                        kind,
                        Counter.builder("genv.enforcer.violations")
                                .description("Violations since the start")
                                .tags(kind.tags())
                                .register(registry));
                // Prometheus uses the name genv_enforcer_violations for the counter, so the gauge needs another one.
                Gauge.builder("genv.enforcer.active.violations", () -> active.getOrDefault(kind, 0L))
                        .description("Active violations")
                        .tags(kind.tags())
                        .register(registry);
            }
        }
    }

    @Override
    public void record(CycleReport report) {
        active = violations.find(ViolationRecord::active, Integer.MAX_VALUE).stream()
                .collect(Collectors.groupingBy(Kind::of, Collectors.counting()));
        for (var entry : report.appeared()) {
            var counter = appeared.get(Kind.of(entry));
            if (counter != null) {
                counter.increment();
            }
        }
    }
}
