package dev.genv.enforcer.enforcement.violation;

import java.time.Instant;

/**
 * How far a registry has come.
 *
 * @param cycles the number of recorded cycles
 * @param appearances the number of violations that ever appeared
 * @param latest the latest time at which any violation was observed
 */
public record RegistryProgress(int cycles, long appearances, Instant latest) {}
