package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;

/**
 * The snapshots of all machines of one cycle, by name.
 *
 * @param remote whether the machines are others than our own: then reports say which one they speak of
 * @param appearances which attachments the service saw appear; none where it has no history
 */
public record Fleet(List<Snapshot> snapshots, boolean remote, Appearances appearances) {
    public Fleet {
        snapshots =
                snapshots.stream().sorted(Comparator.comparing(Snapshot::host)).toList();
    }

    /** One of which nothing is known but what these snapshots show. */
    public Fleet(List<Snapshot> snapshots, boolean remote) {
        this(snapshots, remote, Appearances.NONE);
    }

    public Fleet with(Appearances other) {
        return new Fleet(snapshots, remote, other);
    }
}
