package dev.genv.enforcer.facts.host;

/**
 * The machine itself.
 *
 * @param machineId the content of {@code /etc/machine-id}; empty if there is none
 * @param bootId the content of {@code /proc/sys/kernel/random/boot_id}; empty if it cannot be read
 * @param driver the first line of {@code /proc/driver/nvidia/version}; empty if the driver is not loaded
 * @param beforeListing a time directly before the GPU tool was asked, in clock ticks since boot
 * @param beforeState a time directly before the state was read, in clock ticks since boot
 */
public record MachineFacts(String machineId, String bootId, String driver, long beforeListing, long beforeState) {}
