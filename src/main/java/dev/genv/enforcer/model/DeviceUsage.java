package dev.genv.enforcer.model;

import org.jspecify.annotations.Nullable;

/**
 * The use of one device by one process.
 *
 * @param memory the used memory; null if the driver does not report it
 */
public record DeviceUsage(int device, @Nullable Memory memory) {
    /** Returns the sum; unknown if one of them is unknown. */
    public DeviceUsage plus(DeviceUsage other) {
        return new DeviceUsage(device, memory == null || other.memory == null ? null : memory.plus(other.memory));
    }
}
