package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.MemoryUse;
import dev.genv.enforcer.facts.NvmlFacts.MigDevice;
import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import dev.genv.enforcer.format.gpu.GpuToolProblems;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.device.DeviceUsage.MigInstance;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Interprets the answers of NVML as those of nvidia-smi, which prints what NVML answers: the same machine gives the same listing, so that
 * no rule depends on the source.
 */
final class NvmlListing {
    /** The largest pid of Linux on machines with 64 bits. */
    private static final long LARGEST_PID = 1 << 22;

    private final List<Problem> deviceProblems = new ArrayList<>();
    private final List<Problem> processProblems = new ArrayList<>();
    private final Map<String, Integer> byUuid = new LinkedHashMap<>();
    private final Map<String, Memory> used = new LinkedHashMap<>();
    private final List<GpuLine> lines = new ArrayList<>();
    private final Map<Integer, Set<Integer>> graphics = new HashMap<>();

    private NvmlListing(List<Device> devices) {
        var repeated = new HashSet<String>();
        for (var device : devices) {
            switch (device.uuid()) {
                case NvmlFacts.Fault<String> fault -> deviceProblems.add(NvmlProblems.ofGpu(device.index(), fault));
                case NvmlFacts.Value<String>(var uuid) -> {
                    if (byUuid.put(uuid, device.index()) != null) {
                        repeated.add(uuid);
                        GpuToolProblems.add(
                                deviceProblems,
                                ProblemCode.GPU_LINE_UNREADABLE,
                                "NVML names a device twice: " + GpuToolProblems.shorten(uuid));
                    }
                    addProcesses(uuid, device);
                }
            }
        }
        byUuid.keySet().removeAll(repeated);
        used.keySet().removeAll(repeated);
    }

    /**
     * Interprets the answers.
     *
     * @throws ToolException if there is no list of devices
     */
    static Found<GpuListing> of(NvmlFacts facts, DeviceOrder order) throws ToolException {
        return switch (facts) {
            case NvmlFacts.Failed failed -> throw NvmlProblems.of(failed);
            case NvmlFacts.Listed(var _, var devices) -> {
                var listing = new NvmlListing(devices);
                var found = GpuListing.of(
                        GpuOrigin.NVML,
                        Found.of(listing.lines, listing.processProblems),
                        new GpuDevices(
                                Map.copyOf(listing.byUuid),
                                Map.copyOf(listing.used),
                                List.copyOf(listing.deviceProblems)),
                        order);
                yield new Found<>(found.value().withGraphics(listing.graphics), found.problems(), found.missing());
            }
        };
    }

    private void addProcesses(String uuid, Device device) {
        var problems = new ArrayList<Problem>();
        switch (device.memory()) {
            case NvmlFacts.Fault<MemoryUse> fault -> {
                if (NvmlProblems.isLost(fault)) {
                    // The device is known, but its processes are not.
                    deviceProblems.add(NvmlProblems.ofGpu(device.index(), fault));
                }
            }
            case NvmlFacts.Value<MemoryUse>(var memory) -> {
                var drawn = memory.includesReserve() ? null : drawn(device);
                var amount = drawn == null ? null : memory(Math.max(0, memory.used() - drawn));
                if (amount != null) {
                    used.put(uuid, amount);
                }
            }
        }
        for (var process : compute(device, problems)) {
            if (process.pid() < 1 || process.pid() > LARGEST_PID) {
                GpuToolProblems.add(
                        processProblems,
                        ProblemCode.GPU_LINE_UNREADABLE,
                        "NVML lists a process on device %d whose pid is %d".formatted(device.index(), process.pid()));
            } else {
                lines.add(new GpuLine(uuid, (int) process.pid(), memory(process.memory()), instance(process)));
            }
        }
        processProblems.addAll(problems);
    }

    /**
     * Returns the bytes of the processes on a GPU that have graphics contexts only, and collects these processes. A process that has both
     * kinds of contexts has the same memory in both lists.
     *
     * @return null if they are unknown
     */
    private @Nullable Long drawn(Device device) {
        var lists = new ArrayList<Answer<List<NvmlFacts.DeviceProcess>>>(List.of(device.graphics()));
        var computing = pids(device.compute());
        if (device.instances() instanceof NvmlFacts.Value<List<MigDevice>>(var instances)) {
            instances.forEach(instance -> {
                lists.add(instance.graphics());
                computing.addAll(pids(instance.compute()));
            });
        }
        var bytes = 0L;
        for (var list : lists) {
            switch (list) {
                case NvmlFacts.Fault<List<NvmlFacts.DeviceProcess>> fault -> {
                    if (fault.code() != NvmlCode.NOT_SUPPORTED.number()) {
                        return null;
                    }
                }
                case NvmlFacts.Value<List<NvmlFacts.DeviceProcess>>(var processes) -> {
                    for (var process : processes) {
                        if (computing.add(process.pid())) {
                            if (process.memory() == null) {
                                return null;
                            }
                            graphics.computeIfAbsent((int) process.pid(), _ -> new HashSet<>())
                                    .add(device.index());
                            bytes += process.memory();
                        }
                    }
                }
            }
        }
        return bytes;
    }

    private static Set<Long> pids(Answer<List<NvmlFacts.DeviceProcess>> list) {
        return list instanceof NvmlFacts.Value<List<NvmlFacts.DeviceProcess>>(var processes)
                ? processes.stream().map(NvmlFacts.DeviceProcess::pid).collect(Collectors.toCollection(HashSet::new))
                : new HashSet<>();
    }

    /**
     * The list of a GPU has the processes of its MIG devices too if the service has the privilege for it. They count once, even if their
     * memory changed between the two lists.
     */
    private static Collection<NvmlFacts.DeviceProcess> compute(Device device, List<Problem> problems) {
        var instances =
                device.instances() instanceof NvmlFacts.Value<List<MigDevice>>(var list) ? list : List.<MigDevice>of();
        var processes = new LinkedHashSet<NvmlFacts.DeviceProcess>();
        for (var instance : instances) {
            processes.addAll(list(instance.compute(), device.index(), problems));
        }
        var ofInstances = processes.stream().map(NvmlListing::place).collect(Collectors.toSet());
        var complete = !instances.isEmpty() && problems.isEmpty();
        var own = complete ? new ArrayList<Problem>() : problems;
        list(device.compute(), device.index(), own).stream()
                .filter(process -> !ofInstances.contains(place(process)))
                .forEach(processes::add);
        return processes;
    }

    private static List<Object> place(NvmlFacts.DeviceProcess process) {
        return List.of(process.pid(), Optional.ofNullable(instance(process)));
    }

    private static List<NvmlFacts.DeviceProcess> list(
            Answer<List<NvmlFacts.DeviceProcess>> answer, int index, List<Problem> problems) {
        return switch (answer) {
            case NvmlFacts.Value<List<NvmlFacts.DeviceProcess>>(var list) -> list;
            case NvmlFacts.Fault<List<NvmlFacts.DeviceProcess>> fault -> {
                problems.add(NvmlProblems.ofProcesses(index, fault));
                yield List.of();
            }
        };
    }

    private static @Nullable MigInstance instance(NvmlFacts.DeviceProcess process) {
        var gpu = process.gpuInstance();
        var compute = process.computeInstance();
        return gpu == null || compute == null ? null : new MigInstance(gpu, compute);
    }

    /** In MiB, rounded up as nvidia-smi does. */
    private static @Nullable Memory memory(@Nullable Long bytes) {
        return bytes == null || bytes < 0 ? null : Memory.ofMebibytes(new Memory(bytes).mebibytes());
    }
}
