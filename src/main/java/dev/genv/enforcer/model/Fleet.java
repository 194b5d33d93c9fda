package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;

/**
 * The snapshots of all machines in one cycle.
 *
 * @param remote whether the machines are reached over SSH; then reports name the machine
 * @param appearances the attachments that appeared after the first observation; empty without a history
 */
public record Fleet(List<Snapshot> snapshots, boolean remote, Appearances appearances) {
    public Fleet {
        snapshots =
                snapshots.stream().sorted(Comparator.comparing(Snapshot::host)).toList();
    }

    /** Creates a fleet without a history. */
    public Fleet(List<Snapshot> snapshots, boolean remote) {
        this(snapshots, remote, Appearances.NONE);
    }

    public Fleet with(Appearances other) {
        return new Fleet(snapshots, remote, other);
    }
}
