package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What one user's processes use of one device in the name of one environment with a memory capacity. Each user is judged by
 * itself: to name another user's environment and to fill it must not end that user's job. A user's subordinate uids count as
 * the user's own.
 *
 * @param uid whose processes these are; null where the uids are not known
 */
record MemoryShare(
        String host,
        Environment environment,
        int device,
        @Nullable Long uid,
        Memory capacity,
        List<GpuProcess> processes) {
    private static final Comparator<@Nullable Long> UID = Comparator.nullsFirst(Comparator.naturalOrder());

    /** The shares of all environments with a capacity on the devices that are attached to them, in a fixed order. */
    static List<MemoryShare> of(Snapshot snapshot) {
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
                var user = snapshot.subordinateUids().ownerOf(process.uid());
                byUser.computeIfAbsent(user, _ -> new ArrayList<>()).add(process);
            }
        }
        var shares = new ArrayList<MemoryShare>();
        byUser.forEach((uid, own) ->
                shares.add(new MemoryShare(snapshot.host(), environment, device.index(), uid, capacity, own)));
        return shares;
    }

    /** What is used, as far as it is known. */
    Memory used() {
        return processes.stream().map(this::known).reduce(Memory.ZERO, Memory::plus);
    }

    /** What a process uses here; zero where the driver does not tell, so that nobody is ended for it. */
    Memory known(GpuProcess process) {
        return Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO);
    }

    boolean isOver() {
        return used().compareTo(capacity) > 0;
    }
}
