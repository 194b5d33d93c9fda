package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.LostGpus;
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
    private static final String NO_ACCESS = "Failed to initialize NVML: Unknown Error";
    private static final String NEW_CONTAINER =
            "this container has lost its access to the GPUs, as systemctl daemon-reload"
                    + " takes it away, and must be recreated; on a plain host, load the driver again or reboot";
    private static final String GPU_IS_LOST = "[GPU is lost]";
    private static final String NO_HANDLE = "Unable to determine the device handle";
    private static final String LOST = "what runs on that GPU cannot be seen; reset it or reboot";
    private static final String NO_PERMISSION = "[Insufficient Permissions]";
    private static final String HIDDEN = "a process on a MIG device is hidden from a container that is not privileged";
    private static final int MOST_PROBLEMS = 100;
    private static final int LONGEST_SHOWN = 200;
    /** Indices move when a GPU goes or comes: the list of devices is never older than that. */
    private static final Duration KEEP_DEVICES = Duration.ofSeconds(60);

    private final String program;
    private final Duration timeout;
    private @Nullable Tool tool;
    private final DeviceOrder order = new DeviceOrder();
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
     * @param moved that the indices are no longer those that the state was written with; nothing where they are
     */
    record Listing(
            Set<Integer> devices,
            Map<Integer, List<DeviceUsage>> usage,
            List<Problem> problems,
            Optional<Problem> moved) {}

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
            var moved = order.compare(known.byUuid());
            return new Listing(known.indices(), usage(lines, known, problems), problems, moved);
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
                complain(
                        problems,
                        "device_unknown",
                        "nvidia-smi lists process %d on %s, which is none of its devices"
                                .formatted(line.pid(), shown(line.uuid())));
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
            throw failure(output.exitCode(), said.lines().findFirst().orElse("it said nothing"));
        }
        return lines;
    }

    private static ToolException failure(int exitCode, String said) {
        var message = "nvidia-smi ended with %d: %s".formatted(exitCode, shown(said));
        if (said.startsWith(NO_ACCESS)) {
            return new ToolException(LostGpus.CODE, message + ": " + NEW_CONTAINER, null);
        }
        return said.contains(NO_HANDLE)
                ? new ToolException("gpu_lost", message + ": " + LOST, null)
                : new ToolException(message);
    }

    /** What is wrong with a line that tells nothing. */
    private static void complain(List<Problem> problems, String line) {
        if (line.contains(GPU_IS_LOST) || line.contains(NO_HANDLE)) {
            complain(problems, "gpu_lost", "nvidia-smi says: %s: %s".formatted(shown(line), LOST));
        } else if (line.contains(NO_PERMISSION)) {
            complain(problems, "gpu_process_hidden", "nvidia-smi says: %s: %s".formatted(shown(line), HIDDEN));
        } else {
            complain(problems, "gpu_line_unreadable", "nvidia-smi says: " + shown(line));
        }
    }

    /** Adds a problem, up to a bound: megabytes of garbage must not become as many complaints. */
    private static void complain(List<Problem> problems, String code, String detail) {
        if (problems.size() < MOST_PROBLEMS) {
            problems.add(new Problem(code, detail));
        } else if (problems.size() == MOST_PROBLEMS) {
            problems.add(new Problem("gpu_line_unreadable", "nvidia-smi says more that cannot be understood"));
        }
    }

    private static String shown(String text) {
        return text.length() > LONGEST_SHOWN ? text.substring(0, LONGEST_SHOWN) + "…" : text;
    }

    /** One line: a process on a device. */
    private record Line(String uuid, int pid, @Nullable Memory memory) {
        static List<Line> parse(List<String> text, List<Problem> problems) {
            return text.stream().flatMap(line -> parse(line, problems).stream()).toList();
        }

        private static Optional<Line> parse(String line, List<Problem> problems) {
            var fields = line.split(",", -1);
            if (fields.length != 3 || !fields[1].strip().matches("[1-9][0-9]{0,8}")) {
                complain(problems, line);
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
                    complain(problems, line);
                } else if (byUuid.put(fields[1].strip(), Integer.valueOf(fields[0].strip())) != null) {
                    repeated.add(fields[1].strip());
                    complain(problems, "gpu_line_unreadable", "nvidia-smi names a device twice: " + shown(line));
                } else if (line.contains(GPU_IS_LOST)) {
                    complain(problems, line); // it is known which one it is, but not what runs there
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
