package dev.genv.enforcer.telemetry;

import dev.genv.enforcer.enforcement.record.DeliveryFigures;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** The metrics of messages and events that leave the service, by the kind of delivery. */
public record DeliveryMetrics(MeterRegistry registry) {
    private static final double NANOS_PER_SECOND = Duration.ofSeconds(1).toNanos();

    /** Registers the series of a kind of delivery such as {@code mail}. */
    public void register(String kind, Supplier<DeliveryFigures> figures) {
        count(kind, "sent", figures, DeliveryFigures::sent);
        count(kind, "failed", figures, DeliveryFigures::failed);
        count(kind, "retried", figures, DeliveryFigures::retried);
        count(kind, "dropped", figures, DeliveryFigures::dropped);
        Gauge.builder("genv.enforcer.deliveries.waiting", () -> figures.get().waiting())
                .description("Messages or events that wait for their delivery")
                .tag("kind", kind)
                .register(registry);
        Gauge.builder(
                        "genv.enforcer.deliveries.oldest",
                        () -> figures.get().oldest().toNanos() / NANOS_PER_SECOND)
                .description("Age of the oldest message or event that waits; 0 if none waits")
                .baseUnit("seconds")
                .tag("kind", kind)
                .register(registry);
    }

    private void count(
            String kind, String result, Supplier<DeliveryFigures> figures, ToLongFunction<DeliveryFigures> number) {
        FunctionCounter.builder("genv.enforcer.deliveries", figures, source -> number.applyAsLong(source.get()))
                .description("Attempts to deliver messages and events, by result")
                .tag("kind", kind)
                .tag("result", result)
                .register(registry);
    }
}
