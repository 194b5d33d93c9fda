package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.policy.Words;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The memory capacities of one environment. */
final class CapacityHistory {
    private final Ticker ticker;
    private Capacity latest = Capacity.NONE;
    private @Nullable Capacity roomiest;
    private @Nullable Instant loweredAt;

    /** How much memory it asked for, and how people are told of that. */
    private record Capacity(Optional<Memory> memory, String label) {
        static final Capacity NONE = new Capacity(Optional.empty(), "none");

        static Capacity of(Environment environment) {
            var text = environment.config().gpuMemory();
            return text == null ? NONE : new Capacity(environment.capacity(), Words.safe(text));
        }

        boolean isLessThan(Capacity other) {
            return memory.isPresent() && (other.memory.isEmpty() || memory.get().compareTo(other.memory.get()) < 0);
        }
    }

    CapacityHistory(Ticker ticker) {
        this.ticker = ticker;
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

    /** That the capacity was larger; null where what is used is too much for that as well. */
    @Nullable
    Change lowered(Violation cause) {
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
                ? new Change("memory capacity " + roomiest.label, "memory capacity " + latest.label, loweredAt)
                : null;
    }

    private static Memory used(List<GpuProcess> processes, int device) {
        return processes.stream()
                .map(process -> Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO))
                .reduce(Memory.ZERO, Memory::plus);
    }
}
