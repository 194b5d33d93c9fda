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
 * What one real uid's processes use of one device in the name of one environment with a memory capacity. Each uid to which
 * the environment may belong is judged by itself: a user who fills another's environment must not end the owner's job.
 * All strangers in it are judged together, for one user may have many uids.
 *
 * @param uid whose processes these are; null where the uids are not known, and for the strangers
 * @param ofStrangers whether these are the processes of all strangers
 */
record MemoryShare(
        String host,
        Environment environment,
        int device,
        @Nullable Long uid,
        boolean ofStrangers,
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
                            .forEach(device -> shares.addAll(of(snapshot.host(), environment, device, capacity, own)));
                }
            });
        }
        return shares;
    }

    private static List<MemoryShare> of(
            String host, Environment environment, Device device, Memory capacity, List<GpuProcess> processes) {
        var users = processes.stream()
                .filter(process -> process.uses(device.index()))
                .toList();
        var strangers = new ArrayList<GpuProcess>();
        var byUid = new TreeMap<@Nullable Long, List<GpuProcess>>(UID);
        for (var process : users) {
            if (environment.isStranger(process.uid())) {
                strangers.add(process);
            } else {
                byUid.computeIfAbsent(process.uid(), _ -> new ArrayList<>()).add(process);
            }
        }
        var shares = new ArrayList<MemoryShare>();
        byUid.forEach((uid, own) ->
                shares.add(new MemoryShare(host, environment, device.index(), uid, false, capacity, own)));
        if (!strangers.isEmpty()) {
            shares.add(new MemoryShare(host, environment, device.index(), null, true, capacity, strangers));
        }
        return shares;
    }

    /** Whose share it is, in a form that stays the same from cycle to cycle. */
    String users() {
        return ofStrangers ? "strangers" : "uid " + uid;
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
