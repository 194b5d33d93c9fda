package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.policy.plan.Action;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import jakarta.inject.Singleton;
import java.util.Locale;

/** Counts executed, failed and skipped actions. */
@Singleton
public final class ActionMetrics implements CycleListener {
    private static final String SKIPPED = "skipped_";

    private final MeterRegistry registry;

    public ActionMetrics(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void record(CycleReport report) {
        report.actions().forEach(this::record);
    }

    private void record(ActionRecord done) {
        var outcome = done.result().outcome();
        if (outcome.isSkipped()) {
            Counter.builder("genv.enforcer.skipped")
                    .description("Actions that the service skipped, counted in every cycle")
                    .tag("reason", reason(outcome))
                    .register(registry)
                    .increment();
            return;
        }
        switch (done.planned().action()) {
            case Action.Terminate terminate ->
                Counter.builder("genv.enforcer.terminations")
                        .description("Terminations by outcome and by the first rule that requires them")
                        .tag("rule", done.planned().rules().getFirst().name())
                        .tag("signal", terminate.signal().name())
                        .tag("outcome", outcome.label())
                        .register(registry)
                        .increment();
            case Action.Detach _ ->
                Counter.builder("genv.enforcer.detachments")
                        .description("Detachments by outcome")
                        .tag("outcome", outcome.label())
                        .register(registry)
                        .increment();
        }
    }

    private static String reason(Outcome skipped) {
        return skipped.name().toLowerCase(Locale.ROOT).substring(SKIPPED.length());
    }
}
