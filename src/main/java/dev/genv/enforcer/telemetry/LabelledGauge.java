package dev.genv.enforcer.telemetry;

import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.MultiGauge.Row;
import io.micrometer.core.instrument.Tags;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A gauge with a series for each set of labels.
 *
 * <p>The series are registered only when the set of labels changes, because a registration costs far more than a new value.
 */
final class LabelledGauge {
    private final MultiGauge gauge;
    /** The values of the registered series. Each registration has its own, so that a removed series keeps its last value. */
    private AtomicReference<Map<Tags, ? extends Number>> values = new AtomicReference<>(Map.of());

    LabelledGauge(MultiGauge gauge) {
        this.gauge = gauge;
    }

    /** Sets the value of each series. */
    void setAll(Number value) {
        show(values.get().keySet().stream().collect(Collectors.toMap(Function.identity(), _ -> value)));
    }

    /** Removes all series. */
    void clear() {
        show(Map.of());
    }

    /** Replaces all series. Only the thread of the cycle calls this. */
    void show(Map<Tags, ? extends Number> now) {
        if (now.keySet().equals(values.get().keySet())) {
            values.set(now);
            return;
        }
        var registered = new AtomicReference<Map<Tags, ? extends Number>>(now);
        values = registered;
        gauge.register(
                now.keySet().stream()
                        .<Row<?>>map(
                                labels -> Row.of(labels, () -> registered.get().get(labels)))
                        .toList(),
                true);
    }
}
