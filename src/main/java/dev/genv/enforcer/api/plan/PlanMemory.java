package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;

/**
 * Limits the heap for plans, whose size users choose. The limits are shares of the heap: the service exits if it runs out of memory,
 * and the cycles need it too. Two plan requests are answered at the same time. Each takes up to three times the memory of its tree for
 * the objects of the plan, and a growing buffer needs up to three times its content. With a report, all this is at most three
 * quarters of the heap.
 */
public final class PlanMemory {
    static final int LARGEST = 32 << 20;
    private static final int BODY_SHARE = 32;
    private static final int TREE_SHARE = 24;
    private static final int ANSWER_SHARE = 48;
    private static final long HEAP = Runtime.getRuntime().maxMemory();

    /** A process, a device of a process, an environment, a pid or an attachment: its object, and its JSON. */
    private static final int ENTRY = 3_000;

    private static final int HEAP_SHARE = 8;

    private PlanMemory() {}

    /** Returns the limit of a body in bytes. While it is parsed, one value of it may be in memory twice. */
    public static int largestBody() {
        return (int) Math.min(LARGEST, HEAP / BODY_SHARE);
    }

    /** Returns the limit of a parsed body in bytes. */
    static long largestTree() {
        return HEAP / TREE_SHARE;
    }

    /** Returns the limit of an answer in bytes. */
    static int largestAnswer() {
        return (int) Math.min(LARGEST, HEAP / ANSWER_SHARE);
    }

    /** Refuses a fleet that needs more than its share of the heap. */
    static void check(Fleet fleet) {
        check(fleet, HEAP);
    }

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
        return ENTRY * fleet.snapshots().stream().mapToLong(PlanMemory::entries).sum();
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
