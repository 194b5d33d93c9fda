package dev.genv.enforcer.model;

import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The snapshots of all hosts in one cycle. That of a host without an answer lacks every part, and its problem says why.
 *
 * @param remote whether the machines are reached over SSH; then reports name the machine
 * @param at when all hosts had answered or exceeded the time limit
 * @param appearances the attachments that appeared after the first observation; empty without a history
 * @param idleness for how long devices and processes were idle; empty without a history
 */
public record Fleet(List<Snapshot> snapshots, boolean remote, Instant at, Appearances appearances, Idleness idleness) {
    public Fleet {
        snapshots =
                snapshots.stream().sorted(Comparator.comparing(Snapshot::host)).toList();
    }

    public Fleet(List<Snapshot> snapshots, boolean remote) {
        this(snapshots, remote, Instant.EPOCH);
    }

    public Fleet(List<Snapshot> snapshots, boolean remote, Instant at) {
        this(snapshots, remote, at, Appearances.NONE, Idleness.NONE);
    }

    /** Returns the snapshot of a host; empty if it is not configured. */
    public Optional<Snapshot> host(String name) {
        return snapshots.stream()
                .filter(snapshot -> snapshot.host().equals(name))
                .findFirst();
    }

    /**
     * Whether a user is in a group on any host. A host that knows the groups of a user of this name counts even if the user has nothing there.
     *
     * @param there what the hosts say on which the user has something
     */
    public Match isInGroup(String group, String user, Stream<Match> there) {
        var elsewhere = snapshots.stream()
                .map(snapshot -> snapshot.details().accounts())
                .filter(accounts -> accounts.knowsGroupsOf(user))
                .map(accounts -> accounts.isIn(group, user, null));
        var all = Stream.concat(there, elsewhere).toList();
        return all.isEmpty() ? Match.UNKNOWN : Match.any(all.stream());
    }

    /** The verified processes that have exited. */
    public Set<HostProcess> ended() {
        return snapshots.stream()
                .flatMap(snapshot ->
                        snapshot.details().ended().stream().map(process -> new HostProcess(snapshot.host(), process)))
                .collect(Collectors.toUnmodifiableSet());
    }

    public Fleet with(List<Snapshot> others) {
        return new Fleet(others, remote, at, appearances, idleness);
    }

    public Fleet with(Appearances other) {
        return new Fleet(snapshots, remote, at, other, idleness);
    }

    public Fleet with(Idleness other) {
        return new Fleet(snapshots, remote, at, appearances, other);
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

    /**
     * For how long devices and processes were idle: observed time up to this observation. Time in which the host, or what the duration depends on,
     * could not be observed does not count. What is not idle has no entry.
     *
     * @param unused devices on which no process ran and no memory was used that no process explains
     * @param quiet devices that were unused, or whose utilization was at most the idle utilization in every sample
     * @param attachments for how long an attached device was unused while it was attached
     * @param processes for how long a process was on a device while that was quiet
     */
    public record Idleness(
            Map<HostDevice, Duration> unused,
            Map<HostDevice, Duration> quiet,
            Map<Appearances.Key, Duration> attachments,
            Map<HostProcess, Duration> processes) {
        public static final Idleness NONE = new Idleness(Map.of(), Map.of(), Map.of(), Map.of());

        public Idleness {
            unused = Map.copyOf(unused);
            quiet = Map.copyOf(quiet);
            attachments = Map.copyOf(attachments);
            processes = Map.copyOf(processes);
        }
    }
}
