package dev.genv.enforcer.policy.memory;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.device.Memory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The memory that one user's processes use on one device in one environment with a memory capacity. Each user is checked
 * separately, so that a process that names another user's environment cannot cause the termination of that user's job. A user's
 * subordinate uids count as the user.
 *
 * @param uid the user of the processes; null if the uids are unknown
 */
public record MemoryShare(
        String host,
        Environment environment,
        int device,
        @Nullable Long uid,
        Memory capacity,
        List<GpuProcess> processes) {
    private static final Comparator<@Nullable Long> UID = Comparator.nullsFirst(Comparator.naturalOrder());

    /** Returns the shares of all environments with a capacity on their attached devices, in a fixed order. */
    public static List<MemoryShare> of(Snapshot snapshot) {
        var shares = new ArrayList<MemoryShare>();
        var processes = snapshot.processesByEnvironment();
        for (var environment : snapshot.environments()) {
            var own = processes.getOrDefault(environment.eid(), List.of());
            environment.capacity().ifPresent(capacity -> {
                if (!own.isEmpty()) {
                    snapshot.devices().stream()
                            .filter(device -> device.isAttachedTo(environment.eid()))
                            .forEach(device -> shares.addAll(of(snapshot, environment, device, capacity, own)));
                }
            });
        }
        return shares;
    }

    private static List<MemoryShare> of(
            Snapshot snapshot, Environment environment, Device device, Memory capacity, List<GpuProcess> processes) {
        var byUser = new TreeMap<@Nullable Long, List<GpuProcess>>(UID);
        for (var process : processes) {
            if (process.uses(device.index())) {
                var user = snapshot.userOf(process.uid(), environment);
                byUser.computeIfAbsent(user, _ -> new ArrayList<>()).add(process);
            }
        }
        var shares = new ArrayList<MemoryShare>();
        byUser.forEach((uid, own) ->
                shares.add(new MemoryShare(snapshot.host(), environment, device.index(), uid, capacity, own)));
        return shares;
    }

    /** Returns the used memory, as far as it is known. */
    public Memory used() {
        return processes.stream().map(this::known).reduce(Memory.ZERO, Memory::plus);
    }

    /** Returns the memory that a process uses; zero if the driver does not report it, so that no process is terminated for it. */
    public Memory known(GpuProcess process) {
        return Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO);
    }

    public boolean isExceeded() {
        return used().compareTo(capacity) > 0;
    }
}
