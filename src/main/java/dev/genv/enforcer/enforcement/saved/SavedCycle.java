package dev.genv.enforcer.enforcement.saved;

import java.time.Instant;
import java.util.Map;

/**
 * What changes with every cycle.
 *
 * @param counted the clock that counts towards an action, at the end of the cycle, in nanoseconds
 * @param observed the same clock when the cycle recorded its observation
 * @param ticks when the environments of each host were last read, in clock ticks since its boot
 * @param cycles the number of cycles that the registry recorded
 * @param appearances the number of violations that ever appeared
 * @param at the wall clock at the observation
 * @param latest the latest time at which any violation was observed
 * @param lastIntent the highest number of an action that was about to be executed
 * @param lastEvent the position of the last event
 */
public record SavedCycle(
        long counted,
        long observed,
        Map<String, Long> ticks,
        int cycles,
        long appearances,
        Instant at,
        Instant latest,
        long lastIntent,
        long lastEvent) {}
