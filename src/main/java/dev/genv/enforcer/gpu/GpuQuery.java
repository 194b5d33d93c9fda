package dev.genv.enforcer.gpu;

import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The queries to nvidia-smi, and whether it answered them. */
public final class GpuQuery {
    public static final String FORMAT = "--format=csv,noheader,nounits";
    /** {@code memory.used} is without {@code memory.reserved}, which older drivers do not know as a field. */
    public static final String DEVICES = "--query-gpu=index,uuid,memory.used";

    /** A query of its own, so that a driver that does not know one of these fields still answers the others. */
    public static final String STATUS =
            "--query-gpu=index,memory.used,memory.total,temperature.gpu,utilization.gpu,power.draw,name";

    public static final String PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory";
    private static final String NO_DEVICES = "No devices were found";
    // The exit codes are those of NVML.
    private static final int NO_DEVICES_EXIT_CODE = 6;
    private static final int NO_DRIVER_EXIT_CODE = 9;
    /** Of a corrupted infoROM, which does not matter for the answer. */
    private static final int WARNING_EXIT_CODE = 14;

    private static final int BLOCKED_EXIT_CODE = 17;
    private static final String NO_ACCESS = "Failed to initialize NVML: Unknown Error";
    private static final String NO_PERMISSION = "Failed to initialize NVML: Insufficient Permissions";
    private static final String NEW_CONTAINER =
            "this container has lost its access to the GPUs, as systemctl daemon-reload"
                    + " takes it away, and must be recreated; on a plain host, load the driver again or reboot";

    private static final String GPU_IS_LOST = "[GPU is lost]";
    private static final String NO_HANDLE = "Unable to determine the device handle";
    private static final String LOST = "the processes on that GPU are unknown; reset it or reboot";
    private static final String HIDDEN = "a process on a MIG device is hidden from an unprivileged container";
    private static final int MAX_PROBLEMS = 100;
    private static final int LONGEST_SHOWN = 200;
    private static final int MOST_DIGITS_OF_INDEX = 6;
    private static final int MOST_DIGITS_OF_MEMORY = 12;

    private GpuQuery() {}

    /**
     * Returns the lines of an answer; empty if there are no devices.
     *
     * @throws ToolException if it is no answer
     */
    public static List<String> lines(ToolOutput output) throws ToolException {
        if (foundNoDevices(output)) {
            return List.of();
        }
        var isWarning = output.exitCode() == WARNING_EXIT_CODE;
        if (output.exitCode() != 0 && !isWarning) {
            throw failure(output);
        }
        return output.stdout()
                .text()
                .lines()
                .filter(line -> !line.isBlank() && (!isWarning || isRow(line) || line.contains(NO_HANDLE)))
                .toList();
    }

    /** Returns what nvidia-smi warned about beside an answer; empty if it did not. */
    public static Optional<String> warning(ToolOutput output) {
        return output.exitCode() == WARNING_EXIT_CODE ? Optional.of(message(output)) : Optional.empty();
    }

    /** Whether nvidia-smi reports that there are no devices, as opposed to devices without processes. */
    public static boolean foundNoDevices(ToolOutput output) {
        if (output.exitCode() != 0 && output.exitCode() != NO_DEVICES_EXIT_CODE) {
            return false;
        }
        var printed = output.stdout().text();
        return (printed.contains(NO_DEVICES) || output.stderr().text().contains(NO_DEVICES))
                && reason(output).equals(NO_DEVICES)
                && printed.lines().noneMatch(GpuQuery::isRow);
    }

    /**
     * Returns how nvidia-smi says that this process may not use the GPUs; empty if it says something else.
     *
     * @param driverIsLoaded whether nvidia-smi would find the driver
     */
    public static Optional<String> denial(ToolOutput output, boolean driverIsLoaded) {
        var line = reason(output);
        var denied = line.startsWith(NO_ACCESS)
                || line.startsWith(NO_PERMISSION)
                || output.exitCode() == BLOCKED_EXIT_CODE
                || (driverIsLoaded && output.exitCode() == NO_DRIVER_EXIT_CODE);
        return denied && output.exitCode() != 0 ? Optional.of(message(output)) : Optional.empty();
    }

    /** A line of an answer has at least three fields; what nvidia-smi says besides has no two commas. */
    private static boolean isRow(String line) {
        return line.indexOf(',', line.indexOf(',') + 1) > line.indexOf(',');
    }

    /** Returns why a query failed: a line that is no row, wherever it stands, because the rows of other GPUs may come first. */
    private static String reason(ToolOutput output) {
        var others = Stream.of(output.stdout(), output.stderr())
                .flatMap(text -> text.text().lines())
                .map(String::strip)
                .filter(line -> !line.isEmpty() && !isRow(line))
                .toList();
        return others.stream()
                .filter(line ->
                        line.startsWith(NO_ACCESS) || line.startsWith(NO_PERMISSION) || line.contains(NO_HANDLE))
                .findFirst()
                .or(() -> others.stream().findFirst())
                .orElse("it printed no reason");
    }

    private static String message(ToolOutput output) {
        return "nvidia-smi exited with %d: %s".formatted(output.exitCode(), shorten(reason(output)));
    }

    private static ToolException failure(ToolOutput output) {
        var line = reason(output);
        var message = message(output);
        if (line.startsWith(NO_ACCESS)) {
            return new ToolException(ProblemCode.GPU_NEEDS_NEW_CONTAINER, message + ": " + NEW_CONTAINER, null);
        }
        return line.contains(NO_HANDLE)
                ? new ToolException(ProblemCode.GPU_LOST, message + ": " + LOST, null)
                : new ToolException(message);
    }

    /** Returns the memory in a field; null if it is none, such as {@code [N/A]}. */
    public static @Nullable Memory mebibytes(String field) {
        var text = field.strip();
        return isNumber(text, MOST_DIGITS_OF_MEMORY) ? Memory.ofMebibytes(Long.parseLong(text)) : null;
    }

    private static boolean isNumber(String text, int mostDigits) {
        for (var i = 0; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return !text.isEmpty() && text.length() <= mostDigits;
    }

    /** Adds the problem that an invalid line shows. */
    private static void addInvalid(List<Problem> problems, String line) {
        var printed = "nvidia-smi printed: " + shorten(line);
        if (line.contains(GPU_IS_LOST) || line.contains(NO_HANDLE)) {
            addProblem(problems, ProblemCode.GPU_LOST, printed + ": " + LOST);
        } else if (line.contains("[Insufficient Permissions]")) {
            addProblem(problems, ProblemCode.GPU_PROCESS_HIDDEN, printed + ": " + HIDDEN);
        } else {
            addProblem(problems, ProblemCode.GPU_LINE_UNREADABLE, printed);
        }
    }

    /** Adds a problem up to a limit, because invalid output may have megabytes. */
    public static void addProblem(List<Problem> problems, ProblemCode code, String detail) {
        if (problems.size() < MAX_PROBLEMS) {
            problems.add(new Problem(code, detail));
        } else if (problems.size() == MAX_PROBLEMS) {
            problems.add(new Problem(ProblemCode.GPU_LINE_UNREADABLE, "nvidia-smi printed more invalid lines"));
        }
    }

    public static String shorten(String text) {
        return text.length() > LONGEST_SHOWN ? text.substring(0, LONGEST_SHOWN) + "…" : text;
    }

    /** The GPU tool gave no valid answer. */
    public static final class ToolException extends Exception {
        private static final long serialVersionUID = 1L;

        private final ProblemCode code;

        public ToolException(String message) {
            this(message, null);
        }

        public ToolException(String message, @Nullable Throwable cause) {
            this(ProblemCode.GPU_TOOL_FAILED, message, cause);
        }

        public ToolException(ProblemCode code, String message, @Nullable Throwable cause) {
            super(message, cause);
            this.code = code;
        }

        public ProblemCode code() {
            return code;
        }
    }

    public record GpuLines(List<GpuLine> lines, List<Problem> problems) {
        /** Parses the answer to {@link #PROCESSES}; an invalid line is a problem. */
        public static GpuLines parse(List<String> text) {
            var problems = new ArrayList<Problem>();
            var lines = new ArrayList<GpuLine>();
            for (var line : text) {
                var parsed = GpuLine.parse(line);
                if (parsed == null) {
                    addInvalid(problems, line);
                } else {
                    lines.add(parsed);
                }
            }
            return new GpuLines(List.copyOf(lines), List.copyOf(problems));
        }
    }

    /** A process on a device; the memory is null if the driver does not report it. */
    public record GpuLine(String uuid, int pid, @Nullable Memory memory) {
        private static final int MOST_DIGITS = 9;

        /** Null if it is no such line. */
        private static @Nullable GpuLine parse(String line) {
            var first = line.indexOf(',');
            var second = line.indexOf(',', first + 1);
            if (second <= first || line.indexOf(',', second + 1) >= 0) {
                return null;
            }
            var pid = line.substring(first + 1, second).strip();
            return pid.startsWith("0") || !isNumber(pid, MOST_DIGITS)
                    ? null
                    : new GpuLine(
                            line.substring(0, first).strip(),
                            Integer.parseInt(pid),
                            mebibytes(line.substring(second + 1)));
        }
    }

    /** Devices, and their used memory by UUID, as far as the driver reports it. */
    public record GpuDevices(Map<String, Integer> byUuid, Map<String, Memory> used, List<Problem> problems) {
        /** Parses the answer to {@link #DEVICES}; an invalid line is a problem. */
        public static GpuDevices parse(List<String> lines) {
            var problems = new ArrayList<Problem>();
            var byUuid = new LinkedHashMap<String, Integer>();
            var used = new LinkedHashMap<String, Memory>();
            var repeated = new HashSet<String>();
            for (var line : lines) {
                var fields =
                        Arrays.stream(line.split(",", -1)).map(String::strip).toList();
                if (fields.size() != 3
                        || !isNumber(fields.get(0), MOST_DIGITS_OF_INDEX)
                        || fields.get(1).startsWith("[")) { // such as [GPU is lost], which identifies no device
                    addInvalid(problems, line);
                    continue;
                }
                var uuid = fields.get(1);
                if (byUuid.put(uuid, Integer.valueOf(fields.get(0))) != null) {
                    repeated.add(uuid);
                    addProblem(
                            problems,
                            ProblemCode.GPU_LINE_UNREADABLE,
                            "nvidia-smi names a device twice: " + shorten(line));
                } else if (line.contains(GPU_IS_LOST)) {
                    addInvalid(problems, line); // the device is known, but its processes are not
                } else {
                    var memory = mebibytes(fields.get(2));
                    if (memory != null) {
                        used.put(uuid, memory);
                    }
                }
            }
            byUuid.keySet().removeAll(repeated);
            used.keySet().removeAll(repeated);
            return new GpuDevices(Map.copyOf(byUuid), Map.copyOf(used), List.copyOf(problems));
        }

        public boolean hasAll(List<GpuLine> lines) {
            return lines.stream().allMatch(line -> byUuid.containsKey(line.uuid()));
        }
    }
}
