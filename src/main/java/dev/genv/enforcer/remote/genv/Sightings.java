package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.model.ProcessId;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * Tells the processes of a host apart where nobody says when they were started: by the looks in which they were seen. A pid
 * that was away for two looks in a row is another process. After one it is not, for the GPU tool may lose sight of one.
 */
final class Sightings {
    private final Map<Integer, Sighting> byPid = new HashMap<>();
    private long observations;

    /** What is remembered of a pid: before which look it first was there, and in which it last was. */
    private record Sighting(long since, long last) {}

    /** Takes in one look: these pids are there. */
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

    /** How many looks there were: what the numbers of the processes are to be compared with. */
    long looks() {
        return observations;
    }

    /**
     * The process with this pid. Its number is that of the look before the first one that had it: whatever was there in
     * that look or before is older, and whatever came later than the process is not.
     */
    ProcessId idOf(int pid) {
        var sighting = byPid.get(pid);
        return new ProcessId(pid, sighting == null ? observations : sighting.since);
    }

    /** Whether this process has gone, as far as can be told. */
    boolean isGone(ProcessId process) {
        var sighting = byPid.get(process.pid());
        return sighting == null || sighting.since != process.startTime();
    }
}
