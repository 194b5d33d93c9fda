package dev.genv.enforcer.node.gpu.nvml;

import dev.genv.enforcer.facts.NvmlFacts.Utilization;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The time of the last sample of each GPU, in NVML's microseconds. It outlives an initialization of NVML. */
final class UtilizationTimes {
    private final Map<String, Long> lastSeen = new HashMap<>();

    /** Returns 0 for a GPU without samples. */
    long lastSeen(String uuid) {
        return lastSeen.getOrDefault(uuid, 0L);
    }

    void record(String uuid, List<Utilization> samples) {
        samples.stream().mapToLong(Utilization::time).max().ifPresent(time -> lastSeen.put(uuid, time));
    }

    /** Forgets all other GPUs. */
    void retain(Set<String> uuids) {
        lastSeen.keySet().retainAll(uuids);
    }
}
