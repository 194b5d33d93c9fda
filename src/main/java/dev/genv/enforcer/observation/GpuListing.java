package dev.genv.enforcer.observation;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuQuery.GpuDevices;
import dev.genv.enforcer.gpu.GpuQuery.GpuLine;
import dev.genv.enforcer.gpu.GpuQuery.GpuLines;
import dev.genv.enforcer.gpu.GpuQuery.GpuToolProblems;
import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The devices and processes that nvidia-smi lists.
 *
 * @param usage by pid
 * @param memory the memory of the devices, in any order
 * @param missing the parts that this answer does not show
 */
public record GpuListing(
        Set<Integer> devices,
        Map<Integer, List<DeviceUsage>> usage,
        List<DeviceMemory> memory,
        List<Problem> problems,
        Set<SnapshotPart> missing) {
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
    public static GpuListing of(GpuFacts facts, DeviceOrder order) {
        try {
            return parse(facts, order);
        } catch (ToolException e) {
            return none(List.of(new Problem(e.code(), String.valueOf(e.getMessage()))), Set.of());
        }
    }

    /** Returns a listing in which the processes are missing, besides these parts. */
    static GpuListing none(List<Problem> problems, Set<SnapshotPart> missing) {
        var all = EnumSet.of(SnapshotPart.PROCESSES);
        all.addAll(missing);
        return new GpuListing(Set.of(), Map.of(), List.of(), problems, all);
    }

    /** Returns the same without the use of devices by these pids. */
    GpuListing without(Set<Integer> pids) {
        var others = new LinkedHashMap<>(usage);
        others.keySet().removeAll(pids);
        return new GpuListing(devices, others, memory, problems, missing);
    }

    private static GpuListing parse(GpuFacts facts, DeviceOrder order) throws ToolException {
        var processes = output(facts.processes());
        var lines = GpuLines.parse(GpuQuery.lines(processes));
        var devices = GpuDevices.parse(GpuQuery.lines(output(facts.devices())));
        var byUuid = devices.byUuid();
        if (GpuQuery.foundNoDevices(processes) && !byUuid.isEmpty()) { // they appeared in between
            throw new ToolException("nvidia-smi found no devices at first, and then " + byUuid.size());
        }
        var problems = new ArrayList<>(lines.problems());
        problems.addAll(devices.problems()); // they apply as long as the list that has them
        var lost = order.findLost(byUuid);
        if (devices.problems().isEmpty()) { // otherwise another problem already reports an unknown device
            lost.ifPresent(problems::add);
        }
        var moved = order.compare(byUuid);
        var usage = usage(lines.lines(), byUuid, problems);
        var missing = EnumSet.noneOf(SnapshotPart.class);
        if (!problems.isEmpty()) {
            missing.add(SnapshotPart.EVERY_PROCESS);
        }
        moved.ifPresent(problem -> {
            problems.add(problem);
            missing.add(SnapshotPart.ATTACHMENTS);
        });
        var memory = byUuid.entrySet().stream()
                .map(device -> new DeviceMemory(
                        device.getKey(), device.getValue(), devices.used().get(device.getKey())))
                .toList();
        return new GpuListing(Set.copyOf(byUuid.values()), usage, memory, problems, missing);
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

    private static Map<Integer, List<DeviceUsage>> usage(
            List<GpuLine> lines, Map<String, Integer> indices, List<Problem> problems) {
        var byPid = new TreeMap<Integer, Map<Integer, DeviceUsage>>();
        for (var line : lines) {
            var index = indices.get(line.uuid());
            if (index == null) {
                GpuToolProblems.add(
                        problems,
                        ProblemCode.DEVICE_UNKNOWN,
                        "nvidia-smi lists process %d on %s, which is none of its devices"
                                .formatted(line.pid(), GpuToolProblems.shorten(line.uuid())));
            } else {
                // With MIG a process can have several lines for one device.
                byPid.computeIfAbsent(line.pid(), _ -> new TreeMap<>())
                        .merge(index, new DeviceUsage(index, line.memory()), DeviceUsage::plus);
            }
        }
        var usage = new LinkedHashMap<Integer, List<DeviceUsage>>();
        byPid.forEach((pid, uses) -> usage.put(pid, List.copyOf(uses.values())));
        return usage;
    }

    /**
     * Records the GPUs and their first index. genv's state uses the index: if a GPU disappears and the others move up, earlier and later
     * attachments mean different GPUs, and the state does not show which.
     */
    public static final class DeviceOrder {
        private final Map<String, Integer> first = new HashMap<>();
        private final Map<String, Integer> firstIndices = new TreeMap<>();
        private String boot = "";

        /** Forgets the GPUs after a reboot, which changes the id: a GPU that was removed before is not lost. */
        void recordBoot(String id) {
            if (!boot.equals(id)) {
                firstIndices.clear();
                boot = id;
            }
        }

        /** Returns a problem if a GPU that was listed before is no longer listed. */
        Optional<Problem> findLost(Map<String, Integer> now) {
            var lost = new TreeMap<>(firstIndices);
            lost.keySet().removeAll(now.keySet());
            firstIndices.putAll(now);
            return lost.isEmpty()
                    ? Optional.empty()
                    : Optional.of(new Problem(
                            ProblemCode.GPU_LOST,
                            "nvidia-smi listed %d GPU(s) before that it does not list now (%s): reset the GPU or reboot; if it was removed on purpose, restart genv-enforcer"
                                    .formatted(lost.size(), GpuToolProblems.shorten(indices(lost)))));
        }

        private static String indices(Map<String, Integer> devices) {
            return devices.entrySet().stream()
                    .map(device -> "%d: %s".formatted(device.getValue(), device.getKey()))
                    .sorted()
                    .collect(Collectors.joining(", "));
        }

        /** Returns a problem if a GPU has another index than before. */
        Optional<Problem> compare(Map<String, Integer> now) {
            var moved = new TreeMap<Integer, Integer>();
            now.forEach((uuid, index) -> {
                var before = first.putIfAbsent(uuid, index);
                if (before != null && !before.equals(index)) {
                    moved.put(before, index);
                }
            });
            return moved.isEmpty()
                    ? Optional.empty()
                    : Optional.of(new Problem(
                            ProblemCode.DEVICES_MOVED,
                            "the GPUs have other indices than before (%s), so it is unknown which GPUs genv's attachments mean: detach all devices in devices.json and restart genv-enforcer, or restore the missing GPU"
                                    .formatted(moved)));
        }
    }

    /**
     * Whether this container could use the GPUs since the service was started. Access that worked returns with a new container. Access that
     * never worked does not, so restarts would follow each other for ever.
     */
    static final class GpuAccess {
        private static final String ADVICE =
                "this container has had no access to the GPUs since the service was started: set no-cgroups = false in"
                        + " /etc/nvidia-container-runtime/config.toml and restart the engine, or give it the devices with"
                        + " --device; under a rootless engine, use one that runs as root";

        private boolean worked;

        /** Records a listing, and returns it with another problem if the access to the GPUs was denied and never worked. */
        GpuListing review(GpuListing listing, GpuFacts facts, boolean driverIsLoaded) {
            worked |= !listing.devices.isEmpty();
            return worked || !(facts.processes() instanceof Reading.Value<ToolOutput>(var output))
                    ? listing
                    : GpuQuery.denial(output, driverIsLoaded)
                            .map(reason -> denied(listing, reason))
                            .orElse(listing);
        }

        private static GpuListing denied(GpuListing listing, String reason) {
            var problem = new Problem(ProblemCode.GPU_ACCESS_DENIED, reason + ": " + ADVICE);
            var problems = listing.problems.stream()
                    .map(other -> isReplaced(other.code()) ? problem : other)
                    .toList();
            return new GpuListing(listing.devices, listing.usage, listing.memory, problems, listing.missing);
        }

        private static boolean isReplaced(ProblemCode code) {
            return code == ProblemCode.GPU_TOOL_FAILED || code == ProblemCode.GPU_NEEDS_NEW_CONTAINER;
        }
    }

    /** Interprets what nvidia-smi answered about the temperature, the utilization and the memory of the GPUs. Nothing else depends on it. */
    static final class DeviceStatuses {
        private static final int FIELDS = 7;
        private static final int LONGEST_MODEL = 100;
        private static final int PERCENT = 100;

        private DeviceStatuses() {}

        /** Returns the status of each device, in the order of the indices; none if it was not asked for it. */
        static List<DeviceStatus> of(GpuFacts facts, Findings findings) {
            try {
                switch (facts.status()) {
                    case Reading.Value<ToolOutput>(var output) -> {
                        return parse(GpuQuery.lines(output));
                    }
                    case Reading.Failed<ToolOutput>(var _, var reason) -> {
                        if (!reason.isEmpty()) {
                            findings.add(ProblemCode.DEVICE_STATUS_UNKNOWN, reason);
                        }
                    }
                }
            } catch (ToolException e) {
                findings.add(ProblemCode.DEVICE_STATUS_UNKNOWN, String.valueOf(e.getMessage()));
            }
            return List.of();
        }

        /**
         * Parses lines of {@code index, memory.used, memory.total, temperature.gpu, utilization.gpu, power.draw, name}. An invalid line is left
         * out, and so is a second line for a device. A field such as {@code [N/A]} is unknown.
         */
        static List<DeviceStatus> parse(List<String> lines) {
            var byIndex = new TreeMap<Integer, DeviceStatus>();
            for (var line : lines) {
                parse(line).ifPresent(status -> byIndex.putIfAbsent(status.index(), status));
            }
            return List.copyOf(byIndex.values());
        }

        private static Optional<DeviceStatus> parse(String line) {
            var fields = line.split(",", FIELDS);
            var index = fields.length == FIELDS ? number(fields[0], "[0-9]{1,6}") : null;
            if (index == null) {
                return Optional.empty();
            }
            var utilization = number(fields[4], "[0-9]{1,3}");
            return Optional.of(new DeviceStatus(
                    index,
                    number(fields[3], "-?[0-9]{1,3}"),
                    utilization == null || utilization > PERCENT ? null : utilization,
                    GpuQuery.mebibytes(fields[1]),
                    GpuQuery.mebibytes(fields[2]),
                    number(fields[5].replaceFirst("\\.[0-9]*\\s*$", ""), "[0-9]{1,6}"),
                    model(fields[6])));
        }

        private static @Nullable String model(String field) {
            var text = field.strip();
            return text.isEmpty() || text.startsWith("[") || text.length() > LONGEST_MODEL ? null : text;
        }

        private static @Nullable Integer number(String field, String form) {
            var text = field.strip();
            return text.matches(form) ? Integer.valueOf(text) : null;
        }
    }
}
