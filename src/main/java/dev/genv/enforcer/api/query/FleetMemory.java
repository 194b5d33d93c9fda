package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.PictureReader.Recorded;
import java.util.HashMap;
import java.util.Map;

/** Limits the heap for one fleet while the past is replayed: what is in it may have been larger than now. */
public final class FleetMemory {
    /**
     * A process, a device of a process, an environment, a pid, an attachment or a range of subordinate uids: before and after a change, and as
     * JSON.
     */
    private static final int ENTRY = 3_000;
    /** The results for users, whose number is limited, and the longest record. */
    private static final int FIXED = 4 << 20;

    private static final int HEAP_SHARE = 8;

    private final long most;
    private final Map<String, Long> entriesOf = new HashMap<>();
    private long entries;

    /** Creates a limit of a share of the heap. */
    public FleetMemory() {
        this(Runtime.getRuntime().maxMemory() / HEAP_SHARE);
    }

    /** Creates a limit of this number of bytes. */
    FleetMemory(long most) {
        this.most = most;
    }

    /** Counts what a picture needs more than the one before. Refuses if that is too much. */
    public void hold(Recorded recorded) {
        var picture = recorded.picture();
        var count = picture == null ? 0 : entries(picture.snapshot());
        entries += count - entriesOf.getOrDefault(recorded.host(), 0L);
        entriesOf.put(recorded.host(), count);
        if (bytes() > most) {
            throw new ApiException(
                    413,
                    "the past contains a fleet that needs an estimated %d bytes of memory; choose a shorter period"
                            .formatted(bytes()));
        }
    }

    long bytes() {
        return FIXED + entries * ENTRY;
    }

    /** Returns the number of entries of a host. */
    public static long entries(Snapshot snapshot) {
        var entries = (long) snapshot.processes().size() + snapshot.uidsOfPids().size();
        for (var process : snapshot.processes()) {
            entries += process.usage().size();
        }
        for (var holder : snapshot.unlisted().holders()) {
            entries += 1 + holder.process().usage().size() + holder.used().size();
        }
        entries += snapshot.subordinateUids().ranges().size();
        for (var environment : snapshot.environments()) {
            entries += 1 + environment.pids().size() / 16;
        }
        for (var device : snapshot.devices()) {
            entries += 1 + device.attachments().size();
        }
        return entries;
    }
}
