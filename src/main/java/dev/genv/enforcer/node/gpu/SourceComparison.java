package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import dev.genv.enforcer.model.Found;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Compares two answers of NVML with one of nvidia-smi between them: a process that starts or ends meanwhile is in one of NVML's answers,
 * and is no difference. A device with an error in one of the answers is left out.
 */
final class SourceComparison {
    private final Map<String, Integer> toolDevices;
    private final Map<String, Set<Integer>> toolPids;
    private final boolean toolIsComplete;

    SourceComparison(GpuDevices devices, Found<List<GpuLine>> lines) {
        toolDevices = devices.byUuid();
        toolPids = lines.value().stream()
                .collect(Collectors.groupingBy(
                        GpuLine::uuid, Collectors.mapping(GpuLine::pid, Collectors.toCollection(TreeSet::new))));
        toolIsComplete = devices.problems().isEmpty() && lines.problems().isEmpty();
    }

    /**
     * Returns how the answers differ, as a clause; empty if they do not. A process that starts and ends between the two answers of NVML
     * would be a difference, but the next comparison finds another one.
     *
     * @param earlier the comparison before, if there was a difference: only the processes that nvidia-smi listed then too are missed
     */
    Optional<String> difference(NvmlFacts.Listed before, NvmlFacts.Listed after, Optional<SourceComparison> earlier) {
        return devices(after)
                .or(() -> after.devices().stream()
                        .flatMap(device -> processes(before, device, earlier).stream())
                        .findFirst());
    }

    private Optional<String> devices(NvmlFacts.Listed nvml) {
        var devices = new TreeMap<String, Integer>();
        var complete = toolIsComplete;
        for (var device : nvml.devices()) {
            if (device.uuid() instanceof NvmlFacts.Value<String>(var uuid)) {
                devices.put(uuid, device.index());
            } else {
                complete = false;
            }
        }
        var sameUuids = !complete || devices.keySet().equals(toolDevices.keySet());
        var sameIndices = devices.entrySet().stream()
                .allMatch(device -> toolDevices
                        .getOrDefault(device.getKey(), device.getValue())
                        .equals(device.getValue()));
        return sameUuids && sameIndices
                ? Optional.empty()
                : Optional.of("NVML lists the devices %s, and nvidia-smi %s"
                        .formatted(describe(devices), describe(toolDevices)));
    }

    private Optional<String> processes(NvmlFacts.Listed before, Device device, Optional<SourceComparison> previous) {
        if (!(device.uuid() instanceof NvmlFacts.Value<String>(var uuid))
                || !toolDevices.containsKey(uuid)
                || device.compute() instanceof NvmlFacts.Fault<List<DeviceProcess>>) {
            return Optional.empty();
        }
        var tool = toolPids.getOrDefault(uuid, Set.of());
        var now = ListedPids.of(device);
        var earlier = byUuid(before).getOrDefault(uuid, Set.of());
        var onlyTool = tool.stream()
                .filter(pid -> !now.contains(pid) && !earlier.contains(pid))
                .filter(pid -> previous.map(then -> then.lists(uuid, pid)).orElse(true))
                .findFirst();
        var onlyNvml = now.stream()
                .filter(pid -> toolIsComplete && earlier.contains(pid) && !tool.contains(pid))
                .findFirst();
        return onlyTool.map(pid -> "nvidia-smi lists process %d on %s, and NVML does not".formatted(pid, uuid))
                .or(() -> onlyNvml.map(
                        pid -> "NVML lists process %d on %s, and nvidia-smi does not".formatted(pid, uuid)));
    }

    private boolean lists(String uuid, int pid) {
        return toolPids.getOrDefault(uuid, Set.of()).contains(pid);
    }

    private static Map<String, Set<Integer>> byUuid(NvmlFacts.Listed nvml) {
        var pids = new HashMap<String, Set<Integer>>();
        for (var device : nvml.devices()) {
            if (device.uuid() instanceof NvmlFacts.Value<String>(var uuid)) {
                pids.put(uuid, ListedPids.of(device));
            }
        }
        return pids;
    }

    private static String describe(Map<String, Integer> devices) {
        return devices.entrySet().stream()
                .map(device -> "%d: %s".formatted(device.getValue(), device.getKey()))
                .sorted()
                .collect(Collectors.joining(", ", "[", "]"));
    }
}
