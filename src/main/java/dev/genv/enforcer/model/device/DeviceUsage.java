package dev.genv.enforcer.model.device;

import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The use of one device by one process.
 *
 * @param memory the used memory; null if the driver does not report it
 * @param instances the MIG devices that it uses, in their order; empty without MIG, and if the source does not name them
 */
public record DeviceUsage(int device, @Nullable Memory memory, List<MigInstance> instances) {
    public DeviceUsage {
        instances = instances.size() < 2
                ? instances
                : instances.stream().distinct().sorted().toList();
    }

    /** Creates a use without MIG. */
    public DeviceUsage(int device, @Nullable Memory memory) {
        this(device, memory, List.of());
    }

    /** Returns the sum; unknown if one of them is unknown. */
    public DeviceUsage plus(DeviceUsage other) {
        return new DeviceUsage(
                device,
                memory == null || other.memory == null ? null : memory.plus(other.memory),
                Stream.concat(instances.stream(), other.instances.stream()).toList());
    }

    /**
     * A MIG device of a GPU.
     *
     * @param gpu the number of its GPU instance
     * @param compute the number of its compute instance
     */
    public record MigInstance(int gpu, int compute) implements Comparable<MigInstance> {
        @Override
        public int compareTo(MigInstance other) {
            return Comparator.comparingInt(MigInstance::gpu)
                    .thenComparingInt(MigInstance::compute)
                    .compare(this, other);
        }
    }
}
