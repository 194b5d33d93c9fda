package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The memory capacities that one environment had. */
public final class CapacityHistory {
    private final Ticker ticker;
    private Capacity latest = Capacity.NONE;
    private @Nullable Capacity roomiest;
    private @Nullable Instant loweredAt;

    /** The memory that the environment asked for, and the text that reports show. */
    public record Capacity(Optional<Memory> memory, String label) {
        static final Capacity NONE = new Capacity(Optional.empty(), "none");

        static Capacity of(Environment environment) {
            var text = environment.config().gpuMemory();
            return text == null ? NONE : new Capacity(environment.capacity(), SafeText.escape(text));
        }

        boolean isLessThan(Capacity other) {
            return memory.isPresent() && (other.memory.isEmpty() || memory.get().compareTo(other.memory.get()) < 0);
        }
    }

    /** What is saved: the present capacity, the largest one, and when it was reduced. */
    public record Saved(
            Capacity latest,
            @Nullable Capacity roomiest,
            @Nullable Instant loweredAt) {}

    CapacityHistory(Ticker ticker) {
        this.ticker = ticker;
    }

    Saved save() {
        return new Saved(latest, roomiest, loweredAt);
    }

    void restore(Saved saved) {
        latest = saved.latest;
        roomiest = saved.roomiest;
        loweredAt = saved.loweredAt;
    }

    void record(Environment environment) {
        latest = Capacity.of(environment);
        if (roomiest == null || !latest.isLessThan(roomiest)) {
            roomiest = latest;
            loweredAt = null;
        } else if (loweredAt == null) {
            loweredAt = ticker.now();
        }
    }

    /** Returns the reduction of the capacity; null if the used memory exceeds the earlier capacity too. */
    @Nullable
    StateChange reduction(Violation cause) {
        if (loweredAt == null || roomiest == null) {
            return null;
        }
        var used = cause.devices().stream()
                .map(device -> used(cause.processes(), device))
                .max(Comparator.naturalOrder())
                .orElse(Memory.ZERO);
        var fitted =
                roomiest.memory.map(capacity -> used.compareTo(capacity) <= 0).orElse(true);
        return fitted
                ? new StateChange("memory capacity " + roomiest.label, "memory capacity " + latest.label, loweredAt)
                : null;
    }

    private static Memory used(List<GpuProcess> processes, int device) {
        return processes.stream()
                .map(process -> Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO))
                .reduce(Memory.ZERO, Memory::plus);
    }
}
