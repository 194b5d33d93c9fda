package dev.genv.enforcer.node;

import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The GPUs and their processes, as nvidia-smi lists them. */
final class NvidiaSmi {
    private static final String FORMAT = "--format=csv,noheader,nounits";
    private static final String DEVICES = "--query-gpu=index,uuid,memory.total";
    private static final String PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory";
    private static final String NO_DEVICES = "No devices were found";
    private static final int NO_DEVICES_EXIT_CODE = 6;
    /** Indices move when a GPU goes or comes: the list of devices is never older than that. */
    private static final Duration KEEP_DEVICES = Duration.ofSeconds(60);

    private final String program;
    private final Duration timeout;
    private @Nullable Tool tool;
    private @Nullable KnownDevices devices;

    NvidiaSmi(String program, Duration timeout) {
        this.program = program;
        this.timeout = timeout;
    }

    /**
     * What is on the GPUs.
     *
     * @param devices the indices of all devices
     * @param usage by pid
     */
    record Listing(Set<Integer> devices, Map<Integer, List<DeviceUsage>> usage, List<Problem> problems) {}

    /**
     * Lists what runs.
     *
     * @throws ToolException where nvidia-smi cannot be found, trusted or understood, or takes too long
     */
    Listing list() throws ToolException, InterruptedException {
        try {
            var problems = new ArrayList<Problem>();
            var lines = Line.parse(query(PROCESSES), problems);
            var known = devices;
            if (known == null || known.isOlderThan(KEEP_DEVICES) || !known.hasAll(lines)) {
                known = KnownDevices.parse(query(DEVICES));
                devices = known;
            }
            problems.addAll(known.problems()); // they last as long as the list that has them
            return new Listing(known.indices(), usage(lines, known, problems), problems);
        } catch (ToolException e) {
            devices = null; // whatever went wrong may have moved the indices
            throw e;
        }
    }

    private static Map<Integer, List<DeviceUsage>> usage(List<Line> lines, KnownDevices known, List<Problem> problems) {
        var byPid = new TreeMap<Integer, Map<Integer, DeviceUsage>>();
        for (var line : lines) {
            var index = known.indexOf(line.uuid());
            if (index.isEmpty()) {
                problems.add(new Problem(
                        "device_unknown",
                        "nvidia-smi lists process %d on %s, which is none of its devices"
                                .formatted(line.pid(), line.uuid())));
            } else {
                byPid.computeIfAbsent(line.pid(), _ -> new TreeMap<>())
                        .merge(index.get(), new DeviceUsage(index.get(), line.memory()), NvidiaSmi::sum);
            }
        }
        var usage = new LinkedHashMap<Integer, List<DeviceUsage>>();
        byPid.forEach((pid, uses) -> usage.put(pid, List.copyOf(uses.values())));
        return usage;
    }

    /** With MIG a process can have several lines for one device. */
    private static DeviceUsage sum(DeviceUsage one, DeviceUsage other) {
        var first = one.memory();
        var second = other.memory();
        return new DeviceUsage(one.device(), first == null || second == null ? null : first.plus(second));
    }

    private List<String> query(String what) throws ToolException, InterruptedException {
        var found = tool;
        if (found == null) {
            found = new Tool(TrustedProgram.find(program), timeout);
            tool = found;
        }
        var output = found.run(what, FORMAT);
        var lines = output.stdout().lines().filter(line -> !line.isBlank()).toList();
        var none = !lines.isEmpty() && lines.getFirst().strip().equals(NO_DEVICES);
        if (none && (output.exitCode() == 0 || output.exitCode() == NO_DEVICES_EXIT_CODE)) {
            return List.of();
        }
        if (output.exitCode() != 0) {
            var said = Optional.of(output.stdout().strip())
                    .filter(text -> !text.isEmpty())
                    .orElse(output.stderr().strip());
            throw new ToolException("nvidia-smi ended with %d: %s"
                    .formatted(output.exitCode(), said.lines().findFirst().orElse("it said nothing")));
        }
        return lines;
    }

    /** One line: a process on a device. */
    private record Line(String uuid, int pid, @Nullable Memory memory) {
        static List<Line> parse(List<String> text, List<Problem> problems) {
            return text.stream().flatMap(line -> parse(line, problems).stream()).toList();
        }

        private static Optional<Line> parse(String line, List<Problem> problems) {
            var fields = line.split(",", -1);
            if (fields.length != 3 || !fields[1].strip().matches("[1-9][0-9]{0,8}")) {
                problems.add(new Problem("gpu_line_unreadable", "nvidia-smi says: " + line));
                return Optional.empty();
            }
            return Optional.of(new Line(fields[0].strip(), Integer.parseInt(fields[1].strip()), memory(fields[2])));
        }

        private static @Nullable Memory memory(String field) {
            var number = field.strip();
            return number.matches("[0-9]{1,12}") ? Memory.ofMebibytes(Long.parseLong(number)) : null;
        }
    }

    /** The devices, kept for a while: asking for them costs a child of its own. */
    private record KnownDevices(Map<String, Integer> byUuid, List<Problem> problems, long readAt) {
        static KnownDevices parse(List<String> lines) {
            var problems = new ArrayList<Problem>();
            var byUuid = new LinkedHashMap<String, Integer>();
            var repeated = new HashSet<String>();
            for (var line : lines) {
                var fields = line.split(",", -1);
                if (fields.length != 3
                        || !fields[0].strip().matches("[0-9]{1,6}")
                        || fields[1].strip().startsWith("[")) { // such as [GPU is lost], which tells none from another
                    problems.add(new Problem("gpu_line_unreadable", "nvidia-smi says: " + line));
                } else if (byUuid.put(fields[1].strip(), Integer.valueOf(fields[0].strip())) != null) {
                    repeated.add(fields[1].strip());
                    problems.add(new Problem("gpu_line_unreadable", "nvidia-smi names a device twice: " + line));
                }
            }
            byUuid.keySet().removeAll(repeated);
            return new KnownDevices(Map.copyOf(byUuid), List.copyOf(problems), System.nanoTime());
        }

        boolean isOlderThan(Duration age) {
            return System.nanoTime() - readAt > age.toNanos();
        }

        boolean hasAll(List<Line> lines) {
            return lines.stream().allMatch(line -> byUuid.containsKey(line.uuid()));
        }

        Optional<Integer> indexOf(String uuid) {
            return Optional.ofNullable(byUuid.get(uuid));
        }

        Set<Integer> indices() {
            return Set.copyOf(byUuid.values());
        }
    }
}
