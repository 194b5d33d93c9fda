package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot.Unexplained;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Counts for each device in how many observations in a row more memory was used than its listed processes explain. A single observation
 * proves nothing, because the processes and the memory are read one after the other. One thread at a time uses it.
 */
final class UnexplainedMemory {
    private static final int LASTING = 3;

    private final Memory tolerated;
    private final Map<String, Excess> excesses = new TreeMap<>();

    /**
     * What is not explained on a device.
     *
     * @param observations how many in a row
     * @param first the amount when it began to last, which does not change with every observation
     */
    private record Excess(int index, int observations, Memory now, Memory first) {
        private boolean isLasting() {
            return observations >= LASTING;
        }
    }

    /** @param tolerated what the driver itself uses, and what it rounds */
    UnexplainedMemory(Memory tolerated) {
        this.tolerated = tolerated;
    }

    /** Whether the next observation must read the used memory of the devices anew. */
    boolean needsDeviceMemory() {
        return !excesses.isEmpty();
    }

    /**
     * Interprets a list of devices and processes.
     *
     * @param isCurrent whether the used memory is as recent as the processes; otherwise the counts do not change
     */
    Unexplained observe(GpuReport report, boolean isCurrent, Findings findings) {
        var areProcessesKnown = !report.missing().contains(SnapshotPart.PROCESSES);
        if (report.missing().contains(SnapshotPart.EVERY_PROCESS)) {
            excesses.clear(); // a process that is not in the list may explain the memory of any device
        } else if (areProcessesKnown && isCurrent) {
            count(report);
        }
        var lasting = areProcessesKnown
                ? excesses.values().stream().filter(Excess::isLasting).toList()
                : List.<Excess>of();
        for (var excess : lasting) {
            findings.add(
                    ProblemCode.UNEXPLAINED_MEMORY,
                    "%d MiB on GPU %d belong to no listed process; `fuser -v /dev/nvidia%d` shows which processes hold the GPU"
                            .formatted(excess.first.mebibytes(), excess.index, excess.index));
        }
        return new Unexplained(
                lasting.stream().collect(Collectors.toMap(Excess::index, Excess::now, (first, _) -> first)),
                excesses.values().stream().map(Excess::index).collect(Collectors.toUnmodifiableSet()),
                unknown(report));
    }

    private void count(GpuReport report) {
        var before = Map.copyOf(excesses);
        excesses.clear();
        var uses = uses(report);
        for (var device : report.memory()) {
            var last = before.get(device.uuid());
            rest(device, uses)
                    .filter(rest -> rest.compareTo(tolerated) > 0)
                    .ifPresent(now -> excesses.put(
                            device.uuid(),
                            new Excess(
                                    device.index(),
                                    last == null ? 1 : last.observations + 1,
                                    now,
                                    last != null && last.isLasting() ? last.first : now)));
        }
    }

    private static Set<Integer> unknown(GpuReport report) {
        var uses = uses(report);
        return report.memory().stream()
                .filter(device -> rest(device, uses).isEmpty())
                .map(GpuReport.DeviceMemory::index)
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Returns the memory of a device that its listed processes do not explain. Empty if it is unknown: also if the memory of one of the
     * processes is, because that may be all of it.
     */
    private static Optional<Memory> rest(GpuReport.DeviceMemory device, Map<Integer, DeviceUsage> uses) {
        var use = uses.getOrDefault(device.index(), new DeviceUsage(device.index(), Memory.ZERO));
        return device.used() == null || use.memory() == null
                ? Optional.empty()
                : Optional.of(device.used().minus(use.memory()));
    }

    /** Returns the use of each device by all processes. */
    private static Map<Integer, DeviceUsage> uses(GpuReport report) {
        var uses = new HashMap<Integer, DeviceUsage>();
        for (var ofProcess : report.usage().values()) {
            for (var use : ofProcess) {
                uses.merge(use.device(), use, DeviceUsage::plus);
            }
        }
        return uses;
    }
}
