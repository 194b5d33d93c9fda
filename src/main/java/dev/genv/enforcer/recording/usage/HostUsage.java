package dev.genv.enforcer.recording.usage;

import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * How many devices of a host each user held and used at one time. A device counts once for a user, and only if the GPU tool lists it.
 *
 * @param isObserved whether the processes, the environments and the attachments were observed; otherwise nothing is counted
 */
record HostUsage(boolean isObserved, Map<Optional<String>, Devices> byUser) {
    static final HostUsage UNOBSERVED = new HostUsage(false, Map.of());

    /** Numbers of devices. */
    record Devices(int held, int used) {}

    static HostUsage of(Snapshot snapshot) {
        if (!snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
            return UNOBSERVED;
        }
        var held = held(snapshot);
        var used = used(snapshot);
        var byUser = new HashMap<Optional<String>, Devices>();
        held.forEach((user, devices) -> byUser.put(
                user,
                new Devices(devices.size(), used.getOrDefault(user, Set.of()).size())));
        used.forEach((user, devices) -> byUser.putIfAbsent(user, new Devices(0, devices.size())));
        return new HostUsage(true, byUser);
    }

    private static Map<Optional<String>, Set<Integer>> held(Snapshot snapshot) {
        var held = new HashMap<Optional<String>, Set<Integer>>();
        var environments = snapshot.environmentsById();
        for (var device : snapshot.devices()) {
            if (snapshot.listedDevices().contains(device.index())) {
                for (var attachment : device.attachments()) {
                    var environment = environments.get(attachment.eid());
                    if (environment != null) {
                        held.computeIfAbsent(ProcessUsers.of(environment), _ -> new HashSet<>())
                                .add(device.index());
                    }
                }
            }
        }
        return held;
    }

    private static Map<Optional<String>, Set<Integer>> used(Snapshot snapshot) {
        var used = new HashMap<Optional<String>, Set<Integer>>();
        var users = new ProcessUsers(snapshot);
        for (var process : snapshot.processes()) {
            if (process.immunity() == null || process.immunity().kind() != Immunity.Kind.PROTECTED) {
                used.computeIfAbsent(users.of(process), _ -> new HashSet<>()).addAll(process.devices());
            }
        }
        return used;
    }
}
