package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * What is on the GPUs.
 *
 * @param devices the indices of all devices
 * @param usage by pid
 * @param moved that the indices are no longer those that the state was written with; nothing where they are
 */
public record GpuListing(
        Set<Integer> devices, Map<Integer, List<DeviceUsage>> usage, List<Problem> problems, Optional<Problem> moved) {

    /**
     * Puts both lists together.
     *
     * @param told what was wrong with the lines
     */
    public static GpuListing of(List<GpuLine> lines, GpuDevices devices, List<Problem> told, DeviceOrder order) {
        var problems = new ArrayList<>(told);
        problems.addAll(devices.problems()); // they last as long as the list that has them
        var lost = order.lost(devices.byUuid());
        if (devices.problems().isEmpty()) { // otherwise it is said already that some device is not known
            lost.ifPresent(problems::add);
        }
        var moved = order.compare(devices.byUuid());
        return new GpuListing(devices.indices(), usage(lines, devices, problems), problems, moved);
    }

    /** Says what could not be seen. */
    public void report(List<Problem> all, Set<Part> missing) {
        all.addAll(problems);
        if (!problems.isEmpty()) {
            missing.add(Part.EVERY_PROCESS);
        }
        moved.ifPresent(problem -> {
            all.add(problem);
            missing.add(Part.ATTACHMENTS);
        });
    }

    private static Map<Integer, List<DeviceUsage>> usage(
            List<GpuLine> lines, GpuDevices devices, List<Problem> problems) {
        var byPid = new TreeMap<Integer, Map<Integer, DeviceUsage>>();
        for (var line : lines) {
            var index = devices.indexOf(line.uuid());
            if (index.isEmpty()) {
                GpuComplaints.add(
                        problems,
                        ProblemCode.DEVICE_UNKNOWN,
                        "nvidia-smi lists process %d on %s, which is none of its devices"
                                .formatted(line.pid(), GpuComplaints.shown(line.uuid())));
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
