package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.model.Snapshot;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Limits the heap for the plan of an observed fleet, whose size users choose. A recorded one may have been larger than now. */
final class FleetMemory {
    /**
     * A process, a device of a process, an environment, a pid, an attachment or a range of subordinate uids: before and after a change, and as
     * JSON.
     */
    private static final int ENTRY = 3_000;

    private static final int HEAP_SHARE = 8;

    private final long most;
    private final String advice;
    private final Map<String, Long> entriesOf = new HashMap<>();
    private long entries;

    /** Creates a limit of a share of the heap, without what the request needs besides. A refusal ends with the advice. */
    FleetMemory(long besides, String advice) {
        this(besides, Runtime.getRuntime().maxMemory(), advice);
    }

    FleetMemory(long besides, long heap, String advice) {
        this.advice = advice;
        most = heap / HEAP_SHARE - besides;
    }

    /** Replaces a host by its next snapshot; null if it has none. Refuses if the fleet is too large then. */
    void hold(String host, @Nullable Snapshot snapshot) {
        var count = snapshot == null ? 0 : entries(snapshot);
        entries += count - Objects.requireNonNullElse(entriesOf.put(host, count), 0L);
        var bytes = bytes();
        if (bytes > most) {
            throw new ApiException(
                    413,
                    "a fleet needs an estimated %d bytes of memory, and the limit is %d; %s"
                            .formatted(bytes, most, advice));
        }
    }

    long bytes() {
        return entries * ENTRY;
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
