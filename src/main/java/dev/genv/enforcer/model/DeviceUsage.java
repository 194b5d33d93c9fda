package dev.genv.enforcer.model;

import org.jspecify.annotations.Nullable;

/**
 * What one process uses of one device.
 *
 * @param memory null where the driver does not tell
 */
public record DeviceUsage(int device, @Nullable Memory memory) {}
