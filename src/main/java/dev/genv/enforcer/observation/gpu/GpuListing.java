package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.gpu.GpuDevices;
import dev.genv.enforcer.gpu.GpuLine;
import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuToolProblems;
import dev.genv.enforcer.gpu.ToolException;
import dev.genv.enforcer.host.GpuFacts;
import dev.genv.enforcer.host.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The devices and processes that nvidia-smi lists.
 *
 * @param usage by pid
 * @param memory the memory of the devices, in any order
 */
public record GpuListing(Set<Integer> devices, Map<Integer, List<DeviceUsage>> usage, List<DeviceMemory> memory) {
    public static final GpuListing NONE = new GpuListing(Set.of(), Map.of(), List.of());
    private static final String HUNG =
            "nvidia-smi hung in an earlier observation and could not be terminated: it is not run for a while";

    /**
     * The memory of a device.
     *
     * @param used without what the driver reserves for itself; null if the driver does not report it
     */
    public record DeviceMemory(
            String uuid, int index, @Nullable Memory used) {}

    /** Interprets the answers. Without valid answers, the processes are missing. */
    public static Found<GpuListing> of(GpuFacts facts, DeviceOrder order) {
        try {
            return parse(facts, order);
        } catch (ToolException e) {
            return Found.of(NONE)
                    .with(new Problem(e.code(), String.valueOf(e.getMessage())))
                    .without(SnapshotPart.PROCESSES);
        }
    }

    /** Returns the same without the use of devices by these pids. */
    public GpuListing without(Set<Integer> pids) {
        var others = new LinkedHashMap<>(usage);
        others.keySet().removeAll(pids);
        return new GpuListing(devices, others, memory);
    }

    private static Found<GpuListing> parse(GpuFacts facts, DeviceOrder order) throws ToolException {
        var processes = output(facts.processes());
        var lines = GpuLine.parse(lines(processes));
        var devices = GpuDevices.parse(lines(output(facts.devices())));
        devices.requireSame(!GpuQuery.foundNoDevices(
                processes.exitCode(), processes.stdout().text()));
        var problems = new ArrayList<>(lines.problems());
        problems.addAll(devices.problems()); // they apply as long as the list that has them
        var lost = order.findLost(devices.byUuid());
        if (devices.problems().isEmpty()) { // otherwise another problem already reports an unknown device
            lost.ifPresent(problems::add);
        }
        var moved = order.compare(devices.byUuid());
        var listing = new GpuListing(devices.indices(), usage(lines.value(), devices, problems), memory(devices));
        var found = Found.of(listing, problems);
        if (!problems.isEmpty()) {
            found = found.without(SnapshotPart.EVERY_PROCESS);
        }
        return moved.isEmpty() ? found : found.with(moved.get()).without(SnapshotPart.ATTACHMENTS);
    }

    private static List<DeviceMemory> memory(GpuDevices devices) {
        return devices.byUuid().entrySet().stream()
                .map(device -> new DeviceMemory(
                        device.getKey(), device.getValue(), devices.used().get(device.getKey())))
                .toList();
    }

    private static ToolOutput output(Reading<ToolOutput> reading) throws ToolException {
        return switch (reading) {
            case Reading.Value<ToolOutput>(var output) -> output;
            case Reading.Failed<ToolOutput>(var failure, var reason) ->
                throw new ToolException(
                        switch (failure) {
                            case SKIPPED -> reason.isEmpty() ? HUNG : reason;
                            case TIMEOUT -> reason.isEmpty() ? "nvidia-smi did not exit in time" : reason;
                            default -> reason.isEmpty() ? "nvidia-smi cannot be run" : reason;
                        });
        };
    }

    private static List<String> lines(ToolOutput output) throws ToolException {
        return GpuQuery.lines(
                output.exitCode(), output.stdout().text(), output.stderr().text());
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
                        .merge(index.get(), line.usage(index.get()), DeviceUsage::plus);
            }
        }
        var usage = new LinkedHashMap<Integer, List<DeviceUsage>>();
        byPid.forEach((pid, uses) -> usage.put(pid, List.copyOf(uses.values())));
        return usage;
    }
}
