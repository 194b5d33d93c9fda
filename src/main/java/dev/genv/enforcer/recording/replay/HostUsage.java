package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * How many devices of a host each user held and used at one time. A device counts once for a user, and only if the GPU tool lists it.
 *
 * @param isObserved whether the processes, the environments and the attachments were observed; otherwise nothing is counted
 */
record HostUsage(boolean isObserved, Map<UserKey, Devices> byUser) {
    static final HostUsage UNOBSERVED = new HostUsage(false, Map.of());

    /** Numbers of devices. */
    record Devices(int held, int used) {
        DeviceTime during(Duration time) {
            return new DeviceTime(time.multipliedBy(held), time.multipliedBy(used));
        }
    }

    static HostUsage of(Snapshot snapshot, UserNames names) {
        if (!snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
            return UNOBSERVED;
        }
        var held = held(snapshot, names);
        var used = used(snapshot, names);
        var byUser = new HashMap<UserKey, Devices>();
        held.forEach((user, devices) -> byUser.put(
                user,
                new Devices(devices.size(), used.getOrDefault(user, Set.of()).size())));
        used.forEach((user, devices) -> byUser.putIfAbsent(user, new Devices(0, devices.size())));
        return new HostUsage(true, byUser);
    }

    private static Map<UserKey, Set<Integer>> held(Snapshot snapshot, UserNames names) {
        var held = new HashMap<UserKey, Set<Integer>>();
        var environments = snapshot.environmentsById();
        for (var device : snapshot.devices()) {
            if (snapshot.listedDevices().contains(device.index())) {
                for (var attachment : device.attachments()) {
                    var environment = environments.get(attachment.eid());
                    if (environment != null) {
                        held.computeIfAbsent(names.ownerOf(snapshot.host(), environment), _ -> new HashSet<>())
                                .add(device.index());
                    }
                }
            }
        }
        return held;
    }

    private static Map<UserKey, Set<Integer>> used(Snapshot snapshot, UserNames names) {
        var used = new HashMap<UserKey, Set<Integer>>();
        var users = new ProcessUsers(snapshot, names);
        for (var process : snapshot.processes()) {
            if (!isProtected(process)) {
                used.computeIfAbsent(users.of(process), _ -> new HashSet<>()).addAll(process.devices());
            }
        }
        for (var holder : snapshot.unlisted().holders()) {
            if (!isProtected(holder.process()) && !holder.used().isEmpty()) {
                used.computeIfAbsent(users.of(holder.process()), _ -> new HashSet<>())
                        .addAll(holder.used());
            }
        }
        return used;
    }

    private static boolean isProtected(GpuProcess process) {
        return process.immunity() != null && process.immunity().kind() == Immunity.Kind.PROTECTED;
    }
}
