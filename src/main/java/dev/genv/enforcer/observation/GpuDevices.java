package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The devices that nvidia-smi lists. */
public record GpuDevices(Map<String, Integer> byUuid, List<Problem> problems) {
    /** Reads {@code index, uuid, memory.total}; a line that cannot be read is a problem. */
    public static GpuDevices parse(List<String> lines) {
        var problems = new ArrayList<Problem>();
        var byUuid = new LinkedHashMap<String, Integer>();
        var repeated = new HashSet<String>();
        for (var line : lines) {
            var fields = line.split(",", -1);
            if (fields.length != 3
                    || !fields[0].strip().matches("[0-9]{1,6}")
                    || fields[1].strip().startsWith("[")) { // such as [GPU is lost], which tells none from another
                GpuComplaints.add(problems, line);
            } else if (byUuid.put(fields[1].strip(), Integer.valueOf(fields[0].strip())) != null) {
                repeated.add(fields[1].strip());
                GpuComplaints.add(
                        problems,
                        ProblemCode.GPU_LINE_UNREADABLE,
                        "nvidia-smi names a device twice: " + GpuComplaints.shown(line));
            } else if (line.contains(GpuComplaints.GPU_IS_LOST)) {
                GpuComplaints.add(problems, line); // it is known which one it is, but not what runs there
            }
        }
        byUuid.keySet().removeAll(repeated);
        return new GpuDevices(Map.copyOf(byUuid), List.copyOf(problems));
    }

    public boolean hasAll(List<GpuLine> lines) {
        return lines.stream().allMatch(line -> byUuid.containsKey(line.uuid()));
    }

    /**
     * Checks them against an answer to the other query.
     *
     * @param found whether that one found any devices
     * @throws ToolException where the answers contradict each other: devices have come or gone in between
     */
    public void requireSame(boolean found) throws ToolException {
        if (!found && !byUuid.isEmpty()) {
            throw new ToolException("nvidia-smi found no devices at first, and then " + byUuid.size());
        }
    }

    Optional<Integer> indexOf(String uuid) {
        return Optional.ofNullable(byUuid.get(uuid));
    }

    Set<Integer> indices() {
        return Set.copyOf(byUuid.values());
    }
}
