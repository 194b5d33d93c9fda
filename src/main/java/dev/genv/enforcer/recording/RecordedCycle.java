package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;

/**
 * What a recorded cycle observed.
 *
 * @param at when it was recorded, by the wall clock
 * @param since for how long before this cycle the hosts were as the previous recorded cycle observed them; zero if that is unknown,
 *     because the service did not run, or cycles failed
 * @param cycles the number of cycles since the previous recorded one; all but the last one observed what that one did
 * @param changed the hosts that changed, or are gone
 * @param snapshots by the name of the host; without problems
 */
public record RecordedCycle(
        Instant at, Duration since, int cycles, Set<String> changed, Map<String, Snapshot> snapshots) {}
