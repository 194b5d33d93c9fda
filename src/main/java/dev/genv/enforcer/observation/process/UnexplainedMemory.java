package dev.genv.enforcer.observation.process;

import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.observation.gpu.GpuListing;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Counts for each device in how many observations in a row more memory was used than its listed processes explain. A single observation
 * proves nothing, because the processes and the memory are read one after the other.
 */
public final class UnexplainedMemory {
    /** The number of observations after which it lasts. */
    public static final int LASTING = 3;

    private final Memory tolerated;
    private final Map<String, Excess> excesses = new HashMap<>();

    /**
     * What is not explained on a device.
     *
     * @param first the amount when it began to last, which does not change with every observation
     */
    public record Amount(int index, Memory now, Memory first) {}

    private record Excess(int observations, Amount amount) {}

    /** Creates the count without any observation. The tolerated memory is what the driver itself uses, and what it rounds. */
    public UnexplainedMemory(Memory tolerated) {
        this.tolerated = tolerated;
    }

    /**
     * Records a complete list of devices and processes.
     *
     * @param isCurrent whether the used memory is as recent as the processes; otherwise nothing changes
     */
    public void record(GpuListing listing, boolean isCurrent) {
        if (!isCurrent) {
            return;
        }
        var before = Map.copyOf(excesses);
        excesses.clear();
        for (var device : listing.memory()) {
            excess(device, listing.usage().values(), before.get(device.uuid()))
                    .ifPresent(excess -> excesses.put(device.uuid(), excess));
        }
    }

    /** Forgets all devices, because a process that is not in the list may explain the memory of any. */
    public void forget() {
        excesses.clear();
    }

    /** Whether the next observation must read the used memory anew. */
    public boolean isSuspected() {
        return !excesses.isEmpty();
    }

    /** Whether the next observation must look for the processes that hold the devices. */
    public boolean isLasting() {
        return excesses.values().stream().anyMatch(excess -> excess.observations >= LASTING);
    }

    /** Returns the devices on which memory is not explained, by their UUID. */
    public Map<String, Amount> lasting() {
        var lasting = new TreeMap<String, Amount>();
        excesses.forEach((uuid, excess) -> {
            if (excess.observations >= LASTING) {
                lasting.put(uuid, excess.amount);
            }
        });
        return lasting;
    }

    private Optional<Excess> excess(
            GpuListing.DeviceMemory device,
            Collection<? extends Collection<DeviceUsage>> usage,
            @Nullable Excess before) {
        var explained = explained(device.index(), usage);
        if (device.used() == null || explained.isEmpty()) {
            return Optional.empty();
        }
        var unexplained = device.used().minus(explained.get());
        if (unexplained.compareTo(tolerated) <= 0) {
            return Optional.empty();
        }
        var observations = before == null ? 1 : before.observations + 1;
        var first = before != null && before.observations >= LASTING ? before.amount.first : unexplained;
        return Optional.of(new Excess(observations, new Amount(device.index(), unexplained, first)));
    }

    /** Returns nothing if the memory of one of the processes is unknown, because that may be all of it. */
    private static Optional<Memory> explained(int index, Collection<? extends Collection<DeviceUsage>> usage) {
        var sum = Memory.ZERO;
        for (var uses : usage) {
            for (var use : uses) {
                if (use.device() == index) {
                    if (use.memory() == null) {
                        return Optional.empty();
                    }
                    sum = sum.plus(use.memory());
                }
            }
        }
        return Optional.of(sum);
    }
}
