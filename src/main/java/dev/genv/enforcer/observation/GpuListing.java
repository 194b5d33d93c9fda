package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * The devices and processes that the GPU tool lists.
 *
 * @param devices the indices of all devices
 * @param usage by pid
 * @param moved a problem if the indices differ from those that the state was written with; empty if they do not
 */
public record GpuListing(
        Set<Integer> devices, Map<Integer, List<DeviceUsage>> usage, List<Problem> problems, Optional<Problem> moved) {

    /**
     * Combines the lists of devices and processes.
     *
     * @param reported the problems of the lines
     */
    public static GpuListing of(List<GpuLine> lines, GpuDevices devices, List<Problem> reported, DeviceOrder order) {
        var problems = new ArrayList<>(reported);
        problems.addAll(devices.problems()); // they apply as long as the list that has them
        var lost = order.findLost(devices.byUuid());
        if (devices.problems().isEmpty()) { // otherwise another problem already reports an unknown device
            lost.ifPresent(problems::add);
        }
        var moved = order.compare(devices.byUuid());
        return new GpuListing(devices.indices(), usage(lines, devices, problems), problems, moved);
    }

    /** Adds the problems and the missing parts. */
    public void report(List<Problem> all, Set<SnapshotPart> missing) {
        all.addAll(problems);
        if (!problems.isEmpty()) {
            missing.add(SnapshotPart.EVERY_PROCESS);
        }
        moved.ifPresent(problem -> {
            all.add(problem);
            missing.add(SnapshotPart.ATTACHMENTS);
        });
    }

    private static Map<Integer, List<DeviceUsage>> usage(
            List<GpuLine> lines, GpuDevices devices, List<Problem> problems) {
        var byPid = new TreeMap<Integer, Map<Integer, DeviceUsage>>();
        for (var line : lines) {
            var index = devices.indexOf(line.uuid());
            if (index.isEmpty()) {
                GpuToolProblems.add(
                        problems,
                        ProblemCode.DEVICE_UNKNOWN,
                        "nvidia-smi lists process %d on %s, which is none of its devices"
                                .formatted(line.pid(), GpuToolProblems.shorten(line.uuid())));
            } else {
                // With MIG a process can have several lines for one device.
                byPid.computeIfAbsent(line.pid(), _ -> new TreeMap<>())
                        .merge(index.get(), new DeviceUsage(index.get(), line.memory()), DeviceUsage::plus);
            }
        }
        var usage = new LinkedHashMap<Integer, List<DeviceUsage>>();
        byPid.forEach((pid, uses) -> usage.put(pid, List.copyOf(uses.values())));
        return usage;
    }
}
