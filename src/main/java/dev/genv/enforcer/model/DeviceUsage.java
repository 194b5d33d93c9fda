package dev.genv.enforcer.model;

import org.jspecify.annotations.Nullable;

/**
 * What one process uses of one device.
 *
 * @param memory null where the driver does not tell
 */
public record DeviceUsage(int device, @Nullable Memory memory) {

    /** Both together; unknown where one of them is. */
    public DeviceUsage plus(DeviceUsage other) {
        return new DeviceUsage(device, memory == null || other.memory == null ? null : memory.plus(other.memory));
    }
}
