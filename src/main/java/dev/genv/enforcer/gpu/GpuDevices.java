package dev.genv.enforcer.gpu;

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
import java.util.Set;

/**
 * The devices that nvidia-smi lists.
 *
 * @param used the memory that is used on a device, by its UUID; without the devices of which the driver does not report it
 */
public record GpuDevices(Map<String, Integer> byUuid, Map<String, Memory> used, List<Problem> problems) {
    /** Parses {@code index, uuid, memory.used}; an invalid line is a problem. */
    public static GpuDevices parse(List<String> lines) {
        var problems = new ArrayList<Problem>();
        var byUuid = new LinkedHashMap<String, Integer>();
        var used = new LinkedHashMap<String, Memory>();
        var repeated = new HashSet<String>();
        for (var line : lines) {
            var fields = Arrays.stream(line.split(",", -1)).map(String::strip).toList();
            if (fields.size() != 3
                    || !fields.get(0).matches("[0-9]{1,6}")
                    || fields.get(1).startsWith("[")) { // such as [GPU is lost], which identifies no device
                GpuToolProblems.add(problems, line);
                continue;
            }
            var uuid = fields.get(1);
            if (byUuid.put(uuid, Integer.valueOf(fields.get(0))) != null) {
                repeated.add(uuid);
                GpuToolProblems.add(
                        problems,
                        ProblemCode.GPU_LINE_UNREADABLE,
                        "nvidia-smi names a device twice: " + GpuToolProblems.shorten(line));
            } else if (line.contains(GpuToolProblems.GPU_IS_LOST)) {
                GpuToolProblems.add(problems, line); // the device is known, but its processes are not
            } else if (fields.get(2).matches("[0-9]{1,12}")) {
                used.put(uuid, Memory.ofMebibytes(Long.parseLong(fields.get(2))));
            }
        }
        byUuid.keySet().removeAll(repeated);
        used.keySet().removeAll(repeated);
        return new GpuDevices(Map.copyOf(byUuid), Map.copyOf(used), List.copyOf(problems));
    }

    public boolean hasAll(List<GpuLine> lines) {
        return lines.stream().allMatch(line -> byUuid.containsKey(line.uuid()));
    }

    /**
     * Compares the devices with an answer to the process query.
     *
     * @param found whether that answer found devices
     * @throws ToolException if the answers contradict each other because devices appeared or disappeared in between
     */
    public void requireSame(boolean found) throws ToolException {
        if (!found && !byUuid.isEmpty()) {
            throw new ToolException("nvidia-smi found no devices at first, and then " + byUuid.size());
        }
    }

    public Optional<Integer> indexOf(String uuid) {
        return Optional.ofNullable(byUuid.get(uuid));
    }

    public Set<Integer> indices() {
        return Set.copyOf(byUuid.values());
    }
}
