package dev.genv.enforcer.observation;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuQuery.GpuDevices;
import dev.genv.enforcer.gpu.GpuQuery.GpuLine;
import dev.genv.enforcer.gpu.GpuQuery.GpuLines;
import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The devices and processes that nvidia-smi reports.
 *
 * @param usage by pid
 * @param memory in any order
 * @param missing the parts that this answer does not show
 */
public record GpuReport(
        Set<Integer> devices,
        Map<Integer, List<DeviceUsage>> usage,
        List<DeviceMemory> memory,
        List<Problem> problems,
        Set<SnapshotPart> missing) {
    private static final String HUNG =
            "nvidia-smi hung in an earlier observation and could not be terminated: it is not run for a while";

    /** The used memory is without what the driver reserves for itself; null if the driver does not report it. */
    public record DeviceMemory(
            String uuid, int index, @Nullable Memory used) {}

    /** Returns a report in which the processes are missing, besides these parts. */
    static GpuReport none(List<Problem> problems, Set<SnapshotPart> missing) {
        var all = EnumSet.of(SnapshotPart.PROCESSES);
        all.addAll(missing);
        return new GpuReport(Set.of(), Map.of(), List.of(), problems, all);
    }

    GpuReport without(Set<Integer> pids) {
        var others = new LinkedHashMap<>(usage);
        others.keySet().removeAll(pids);
        return new GpuReport(devices, others, memory, problems, missing);
    }

    private static ToolOutput output(Reading<ToolOutput> reading) throws ToolException {
        return switch (reading) {
            case Reading.Value<ToolOutput>(var output) -> output;
            case Reading.Failed<ToolOutput>(var failure, var reason) ->
                throw new ToolException(
                        !reason.isEmpty()
                                ? reason
                                : switch (failure) {
                                    case SKIPPED -> HUNG;
                                    case TIMEOUT -> "nvidia-smi did not exit in time";
                                    default -> "nvidia-smi cannot be run";
                                });
        };
    }

    private static Map<Integer, List<DeviceUsage>> usage(
            List<GpuLine> lines, Map<String, Integer> indices, List<Problem> problems) {
        var byPid = new TreeMap<Integer, Map<Integer, DeviceUsage>>();
        for (var line : lines) {
            var index = indices.get(line.uuid());
            if (index == null) {
                GpuQuery.addProblem(
                        problems,
                        ProblemCode.DEVICE_UNKNOWN,
                        "nvidia-smi lists process %d on %s, which is none of its devices"
                                .formatted(line.pid(), GpuQuery.shorten(line.uuid())));
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
     * Interprets the answers of nvidia-smi, and records the GPUs that it listed with their first index. genv's state uses the index: if a GPU
     * disappears and the others move up, earlier and later attachments mean different GPUs, and the state does not show which.
     */
    public static final class GpuHistory {
        private static final String NO_ACCESS =
                "this container has had no access to the GPUs since the service was started: set no-cgroups = false in"
                        + " /etc/nvidia-container-runtime/config.toml and restart the engine, or give it the devices with"
                        + " --device; under a rootless engine, use one that runs as root";

        private final Map<String, Integer> first = new HashMap<>();
        /** Since the boot. */
        private final Map<String, Integer> listed = new TreeMap<>();

        private String boot = "";
        private boolean hadAccess;

        /** Forgets which GPUs were listed after a reboot, which changes the id: a GPU that was removed before is not lost. */
        void rememberBoot(MachineFacts machine) {
            if (machine.isAnotherBoot(boot)) {
                listed.clear();
                boot = machine.bootId();
            }
        }

        /** Returns the report. Without valid answers, the processes are missing. */
        public GpuReport interpret(GpuFacts facts) {
            try {
                return parse(facts);
            } catch (ToolException e) {
                return none(List.of(new Problem(e.code(), String.valueOf(e.getMessage()))), Set.of());
            }
        }

        /**
         * Returns the report of a container, with another problem if the access to the GPUs was denied and never worked since the service was
         * started. Access that worked returns with a new container; otherwise restarts would follow each other for ever.
         */
        GpuReport interpretInContainer(GpuFacts facts, boolean driverIsLoaded) {
            var report = interpret(facts);
            hadAccess |= !report.devices.isEmpty();
            var denial = !hadAccess && facts.processes() instanceof Reading.Value<ToolOutput>(var output)
                    ? GpuQuery.denial(output, driverIsLoaded)
                    : Optional.<String>empty();
            return denial.filter(_ -> report.problems.getFirst().code() != ProblemCode.GPU_LOST)
                    .map(reason -> none(
                            List.of(new Problem(ProblemCode.GPU_ACCESS_DENIED, reason + ": " + NO_ACCESS)), Set.of()))
                    .orElse(report);
        }

        private GpuReport parse(GpuFacts facts) throws ToolException {
            var processes = output(facts.processes());
            var lines = GpuLines.parse(GpuQuery.lines(processes));
            var described = output(facts.devices());
            var devices = GpuDevices.parse(GpuQuery.lines(described));
            var byUuid = devices.byUuid();
            var warnings = Stream.of(processes, described)
                    .flatMap(output -> GpuQuery.warning(output).stream())
                    .distinct()
                    .toList();
            if (byUuid.isEmpty() && devices.problems().isEmpty() && !warnings.isEmpty()) {
                throw new ToolException(warnings.getFirst());
            }
            if (GpuQuery.foundNoDevices(processes) && !byUuid.isEmpty()) { // they appeared in between
                throw new ToolException("nvidia-smi found no devices at first, and then " + byUuid.size());
            }
            var problems = new ArrayList<>(lines.problems());
            problems.addAll(devices.problems()); // they apply as long as the list that has them
            var lost = findLost(byUuid);
            if (devices.problems().isEmpty()) { // otherwise another problem already reports an unknown device
                lost.ifPresent(problems::add);
            }
            var usage = usage(lines.lines(), byUuid, problems);
            var missing = EnumSet.noneOf(SnapshotPart.class);
            if (!problems.isEmpty()) {
                missing.add(SnapshotPart.EVERY_PROCESS);
            }
            warnings.forEach(warning -> problems.add(new Problem(ProblemCode.GPU_TOOL_WARNING, warning)));
            findMoved(byUuid).ifPresent(problem -> {
                problems.add(problem);
                missing.add(SnapshotPart.ATTACHMENTS);
            });
            var memory = byUuid.entrySet().stream()
                    .map(device -> new DeviceMemory(
                            device.getKey(), device.getValue(), devices.used().get(device.getKey())))
                    .toList();
            return new GpuReport(Set.copyOf(byUuid.values()), usage, memory, problems, missing);
        }

        Optional<Problem> findLost(Map<String, Integer> now) {
            var lost = new TreeMap<>(listed);
            lost.keySet().removeAll(now.keySet());
            listed.putAll(now);
            if (lost.isEmpty()) {
                return Optional.empty();
            }
            var indices = lost.entrySet().stream()
                    .map(device -> "%d: %s".formatted(device.getValue(), device.getKey()))
                    .sorted()
                    .collect(Collectors.joining(", "));
            return Optional.of(new Problem(
                    ProblemCode.GPU_LOST,
                    "nvidia-smi listed %d GPU(s) before that it does not list now (%s): reset the GPU or reboot; if it was removed on purpose, restart genv-enforcer"
                            .formatted(lost.size(), GpuQuery.shorten(indices))));
        }

        private Optional<Problem> findMoved(Map<String, Integer> now) {
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
     * Decides which process a reported pid belongs to. The driver reports the pid that opened {@code /dev/nvidiactl} as long as any process has
     * that file open: also after its process has exited, when another process can have the pid.
     */
    static final class ReportedProcesses {
        private static final long NONE = -1;

        /**
         * The largest start time with which a process can be the reported one, by pid; {@link #NONE} if none can. The pids are those of the last
         * report and, if that is incomplete, of the last complete one.
         */
        private Map<Integer, Long> latestStarts = Map.of();

        private Set<Integer> lastComplete = Set.of();
        private Set<Integer> absent = Set.of();
        private String boot = "";

        /**
         * @param processes the reported ones that exist
         * @param report without the pids whose processes had exited in the last observation too
         */
        record Present(List<ObservedProcess> processes, GpuReport report) {}

        /** Whether a reported process has exited, so that the next observation must read the used memory of the devices anew. */
        boolean needsDeviceMemory() {
            return !absent.isEmpty();
        }

        /**
         * Decides it for a report. If that is missing, nothing is forgotten. If it is incomplete, nothing is forgotten of the pids in the last
         * complete one: the lines of a GPU that cannot be read now may contain them.
         *
         * @param byPid the processes of the report
         */
        Present observe(
                GpuReport report, MachineFacts machine, Map<Integer, ProcessIdentity> byPid, Findings findings) {
            if (machine.isAnotherBoot(boot)) {
                boot = machine.bootId();
                latestStarts = Map.of(); // start times count from the boot
                lastComplete = Set.of();
            }
            if (report.missing().contains(SnapshotPart.PROCESSES)) {
                return new Present(List.of(), report);
            }
            var present = new ArrayList<ObservedProcess>();
            var starts = new HashMap<Integer, Long>();
            var gone = new HashSet<Integer>();
            var others = new HashSet<Integer>();
            for (var pid : report.usage().keySet()) {
                var latest = latestStarts.get(pid);
                if (latest != null) {
                    starts.put(pid, latest);
                }
                switch (Objects.requireNonNull(byPid.get(pid))) {
                    case ProcessIdentity.Gone _ -> {
                        starts.put(pid, NONE);
                        gone.add(pid);
                    }
                    case ProcessIdentity.Unreadable(var reason) -> {
                        findings.add(ProblemCode.PROCESS_UNREADABLE, "process %d: %s".formatted(pid, reason));
                        findings.miss(SnapshotPart.EVERY_PROCESS);
                    }
                    case ProcessIdentity.Present(var process) -> {
                        var start = process.id().startTime();
                        if (latest != null && start > latest) {
                            others.add(pid);
                            reportReused(process, findings);
                        } else {
                            // It may have been started and listed after the clock was read. The next observation shows
                            // it.
                            starts.put(pid, start);
                            if (start <= machine.beforeListing()) {
                                present.add(process);
                            }
                        }
                    }
                }
            }
            if (report.missing().contains(SnapshotPart.EVERY_PROCESS)) {
                latestStarts.entrySet().stream()
                        .filter(entry -> lastComplete.contains(entry.getKey()))
                        .forEach(entry -> starts.putIfAbsent(entry.getKey(), entry.getValue()));
            } else {
                lastComplete = Set.copyOf(report.usage().keySet());
            }
            gone.addAll(others);
            var exited = new HashSet<>(gone);
            exited.retainAll(absent);
            latestStarts = Map.copyOf(starts);
            absent = Set.copyOf(gone);
            return new Present(List.copyOf(present), report.without(exited));
        }

        private static void reportReused(ObservedProcess process, Findings findings) {
            findings.add(
                    ProblemCode.PID_REUSED,
                    "process %d of uid %s (%s) was started after its pid was listed: the listed process has exited"
                            .formatted(
                                    process.pid(),
                                    process.uid() == null ? "unknown" : process.uid(),
                                    SafeText.escape(process.command())));
        }
    }
}
