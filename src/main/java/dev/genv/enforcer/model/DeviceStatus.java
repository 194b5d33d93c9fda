package dev.genv.enforcer.model;

import org.jspecify.annotations.Nullable;

/**
 * What the driver measures on a device. No rule uses it.
 *
 * @param temperature in degrees Celsius; null if unknown
 * @param utilization the share of the time in which a kernel ran, in percent; null if unknown, as with MIG
 * @param used the used memory of the whole device, which can be more than its processes use; null if unknown
 * @param total its memory; null if unknown
 */
public record DeviceStatus(
        int index,
        @Nullable Integer temperature,
        @Nullable Integer utilization,
        @Nullable Memory used,
        @Nullable Memory total) {}
