package dev.genv.enforcer.recording.change;

import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What changed of the processes of a host.
 *
 * @param whole the new and the removed processes, and those of which more than the memory changed
 * @param memory the memory of the others
 */
public record ProcessChange(MapChange<ProcessId, GpuProcess> whole, List<MemoryUse> memory) {

    /** The memory of a process on a device; null if it became unknown. */
    public record MemoryUse(
            ProcessId process, int device, @Nullable Memory memory) {}

    static ProcessChange between(Map<ProcessId, GpuProcess> before, Map<ProcessId, GpuProcess> after) {
        var change = MapChange.between(before, after);
        var put = new LinkedHashMap<ProcessId, GpuProcess>();
        var memory = new ArrayList<MemoryUse>();
        change.put().forEach((id, now) -> {
            var then = before.get(id);
            if (then != null && withoutMemory(then).equals(withoutMemory(now))) {
                addChanged(then, now, memory);
            } else {
                put.put(id, now);
            }
        });
        return new ProcessChange(new MapChange<>(put, change.removed()), memory);
    }

    private static GpuProcess withoutMemory(GpuProcess process) {
        return process.withUsage(process.usage().stream()
                .map(use -> new DeviceUsage(use.device(), null))
                .toList());
    }

    private static void addChanged(GpuProcess before, GpuProcess now, List<MemoryUse> changed) {
        for (var index = 0; index < now.usage().size(); index++) { // both have the same devices
            var use = now.usage().get(index);
            if (!use.equals(before.usage().get(index))) {
                changed.add(new MemoryUse(now.id(), use.device(), use.memory()));
            }
        }
    }

    boolean isEmpty() {
        return whole.isEmpty() && memory.isEmpty();
    }

    Map<ProcessId, GpuProcess> applyTo(Map<ProcessId, GpuProcess> before) throws UnreadableException {
        var others = whole.applyTo(before);
        if (memory.isEmpty()) {
            return others;
        }
        var after = new HashMap<>(others);
        for (var use : memory) {
            var process = after.get(use.process);
            if (process == null) {
                throw new UnreadableException("changes the memory of a process that was not recorded");
            }
            after.put(use.process, changed(process, use));
        }
        return after;
    }

    private static GpuProcess changed(GpuProcess process, MemoryUse change) {
        return process.withUsage(process.usage().stream()
                .map(use -> use.device() == change.device ? new DeviceUsage(use.device(), change.memory) : use)
                .toList());
    }
}
