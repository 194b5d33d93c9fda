package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;

/**
 * The snapshots of all machines of one cycle, by name.
 *
 * @param remote whether the machines are others than our own: then reports say which one they speak of
 */
public record Fleet(List<Snapshot> snapshots, boolean remote) {
    public Fleet {
        snapshots =
                snapshots.stream().sorted(Comparator.comparing(Snapshot::host)).toList();
    }
}
