package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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

    public Fleet(List<Snapshot> snapshots, boolean remote) {
        this(snapshots, remote, Appearances.NONE);
    }

    public Fleet with(Appearances other) {
        return new Fleet(snapshots, remote, other);
    }

    /**
     * When users began to hold devices.
     *
     * @param since for each attachment that a user began to hold after the first reading of its host, a number that is larger for a later one
     * @param trustsRecordedTimes whether the recorded times, which every user can write, decide the age of the others
     */
    public record Appearances(Map<Key, Long> since, boolean trustsRecordedTimes) {
        /** The appearances in a fleet without a history. */
        public static final Appearances NONE = new Appearances(Map.of(), true);

        /** The attachment of a device to an environment on a host. */
        public record Key(String host, String eid, int device) {}

        public Appearances {
            since = Map.copyOf(since);
        }

        /** Returns a number that is larger for a later attachment; null if the first reading found it. */
        public @Nullable Long of(String host, String eid, int device) {
            return since.get(new Key(host, eid, device));
        }
    }
}
