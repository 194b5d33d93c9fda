package dev.genv.enforcer.observation.genv;

import dev.genv.enforcer.model.ProcessId;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * Distinguishes the processes of a host without their start times, by the observations that contain them. A pid that was absent from two consecutive observations is another process. One absence does not count, because the GPU tool can omit a process.
 */
final class Sightings {
    private final Map<Integer, Sighting> byPid = new HashMap<>();
    private long observations;

    /** The observation before the first one with a pid, and the last one with it. */
    private record Sighting(long since, long last) {}

    /** Records an observation with these pids. */
    void see(Collection<Integer> pids) {
        observations++;
        for (var pid : pids) {
            byPid.merge(
                    pid,
                    new Sighting(observations - 1, observations),
                    (known, now) -> new Sighting(known.since, now.last));
        }
        byPid.values().removeIf(sighting -> sighting.last < observations - 1);
    }

    /** Returns the number of observations, in the unit of the numbers of processes. */
    long observations() {
        return observations;
    }

    /**
     * Returns the process with this pid. Its number is that of the observation before the first one with it. So a process of that observation or an earlier one is older.
     */
    ProcessId idOf(int pid) {
        var sighting = byPid.get(pid);
        return new ProcessId(pid, sighting == null ? observations : sighting.since);
    }

    /** Whether a process has probably exited. */
    boolean isGone(ProcessId process) {
        var sighting = byPid.get(process.pid());
        return sighting == null || sighting.since != process.startTime();
    }
}
