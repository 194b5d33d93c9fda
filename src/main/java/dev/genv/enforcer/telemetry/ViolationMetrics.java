package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Journal;
import dev.genv.enforcer.enforcement.JournalEntry;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/** How many violations there are and have been, by rule and by what is done about them. */
public final class ViolationMetrics {
    private final Journal journal;
    private final Map<Kind, AtomicLong> active = new HashMap<>();
    private final Map<Kind, Counter> appeared = new HashMap<>();

    private record Kind(RuleName rule, RuleMode mode) {
        static Kind of(JournalEntry entry) {
            return new Kind(entry.violation().rule(), entry.mode());
        }

        Tags tags() {
            return Tags.of("rule", rule.label(), "mode", mode.name().toLowerCase(Locale.ROOT));
        }
    }

    /** Registers everything at once, so that a rule that was never broken is there as a zero. */
    public ViolationMetrics(MeterRegistry registry, Journal journal) {
        this.journal = journal;
        for (var rule : RuleName.values()) {
            for (var mode : List.of(RuleMode.AUDIT, RuleMode.ENFORCE)) {
                var kind = new Kind(rule, mode);
                var now = new AtomicLong();
                active.put(kind, now);
                Gauge.builder("genv.enforcer.violations", now, AtomicLong::get)
                        .description("Violations that there are now")
                        .tags(kind.tags())
                        .register(registry);
                // A gauge and a counter cannot share a name before Prometheus' ending is put behind it.
                appeared.put(
                        kind,
                        Counter.builder("genv.enforcer.violations.total")
                                .description("Violations that have appeared")
                                .tags(kind.tags())
                                .register(registry));
            }
        }
    }

    public void record(CycleReport report) {
        var now = journal.find(JournalEntry::active, Integer.MAX_VALUE).stream()
                .collect(Collectors.groupingBy(Kind::of, Collectors.counting()));
        active.forEach((kind, count) -> count.set(now.getOrDefault(kind, 0L)));
        for (var entry : report.appeared()) {
            var counter = appeared.get(Kind.of(entry));
            if (counter != null) {
                counter.increment();
            }
        }
    }
}
