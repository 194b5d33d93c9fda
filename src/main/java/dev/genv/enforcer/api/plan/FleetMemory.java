package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;

/** Limits the heap for the plan of the observed fleet, whose size users choose. */
final class FleetMemory {
    /** A process, a device of a process, an environment, a pid or an attachment: its object, and its JSON. */
    private static final int ENTRY = 3_000;

    private static final int HEAP_SHARE = 8;

    private FleetMemory() {}

    /** Refuses a fleet that needs more than its share of this heap. */
    static void check(Fleet fleet, long heap) {
        var bytes = bytes(fleet);
        var most = heap / HEAP_SHARE;
        if (bytes > most) {
            throw new ApiException(
                    413,
                    "a fleet needs an estimated %d bytes of memory, and the limit is %d; %s"
                            .formatted(bytes, most, PlanResource.ASK_LESS_FLEET));
        }
    }

    static long bytes(Fleet fleet) {
        return ENTRY
                * fleet.snapshots().stream().mapToLong(FleetMemory::entries).sum();
    }

    private static long entries(Snapshot snapshot) {
        var entries = (long) snapshot.processes().size();
        for (var process : snapshot.processes()) {
            entries += process.usage().size();
        }
        for (var environment : snapshot.environments()) {
            entries += 1 + environment.pids().size() / 16;
        }
        for (var device : snapshot.devices()) {
            entries += 1 + device.attachments().size();
        }
        return entries;
    }
}
