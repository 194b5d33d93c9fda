package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.MemoryVictims.MemoryShare;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Leaves out small changes of used memory, because nearly every process changes a little in every cycle. The memory of an environment
 * that exceeds its capacity is exact, so that a rule decides about the recorded memory as about the observed one.
 */
public final class MemoryGranularity {
    /** A change of at most this many bytes is left out. */
    static final long SMALL_CHANGE = 64L << 20;
    /** So is a change of at most this share of the recorded memory. */
    static final int SMALL_SHARE = 10;

    private MemoryGranularity() {}

    /** The memory of a process on a device. */
    private record Use(ProcessId process, int device) {}

    /** Returns the snapshot with the recorded memory where it changed only a little. */
    public static Snapshot apply(Snapshot now, Map<ProcessId, GpuProcess> recorded) {
        var coarse = now.withProcesses(now.processes().stream()
                .map(process -> coarse(process, recorded.get(process.id()), Set.of()))
                .toList());
        var exact = exceeding(now);
        exact.addAll(exceeding(coarse));
        if (exact.isEmpty()) {
            return coarse;
        }
        return now.withProcesses(now.processes().stream()
                .map(process -> coarse(process, recorded.get(process.id()), exact))
                .toList());
    }

    private static Set<Use> exceeding(Snapshot snapshot) {
        var uses = new HashSet<Use>();
        for (var share : MemoryShare.of(snapshot)) {
            if (share.isExceeded()) {
                share.processes().forEach(process -> uses.add(new Use(process.id(), share.device())));
            }
        }
        return uses;
    }

    private static GpuProcess coarse(GpuProcess now, @Nullable GpuProcess recorded, Set<Use> exact) {
        if (recorded == null || recorded.usage().equals(now.usage())) {
            return now;
        }
        return now.withUsage(now.usage().stream()
                .map(use -> exact.contains(new Use(now.id(), use.device())) ? use : coarse(use, recorded))
                .toList());
    }

    private static DeviceUsage coarse(DeviceUsage now, GpuProcess recorded) {
        var before = recorded.uses(now.device()) ? recorded.memoryOn(now.device()) : null;
        return isSmallChange(before, now.memory()) ? new DeviceUsage(now.device(), before) : now;
    }

    private static boolean isSmallChange(@Nullable Memory before, @Nullable Memory now) {
        return before != null
                && now != null
                && Math.abs(now.bytes() - before.bytes()) <= Math.max(SMALL_CHANGE, before.bytes() / SMALL_SHARE);
    }
}
