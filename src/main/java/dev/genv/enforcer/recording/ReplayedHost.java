package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A host in a replay: its last picture, without what the replay has terminated and detached. Marks are in milliseconds. */
final class ReplayedHost {
    static final long NEVER = Long.MAX_VALUE;
    /** So many are remembered also where an observation is never complete. */
    private static final int MAX_REMEMBERED = 10_000;

    private static final long MILLIS_PER_TICK = 10;

    final History history;
    private final Set<ProcessId> terminated = new HashSet<>();
    private final Set<AttachmentId> detached = new HashSet<>();
    private @Nullable Picture picture;
    private long mark;
    /** When its rules are to be checked. */
    long due = NEVER;

    ReplayedHost(History history) {
        this.history = history;
    }

    /** Returns what the last picture shows; empty if the host is not known. */
    Optional<Snapshot> snapshot() {
        return Optional.ofNullable(picture).map(Picture::snapshot);
    }

    /** Continues with a picture, and returns whether it decides anew how many devices users hold. */
    boolean show(@Nullable Picture next, long now) {
        var before = picture;
        picture = next;
        mark = now;
        if (before != null && next != null && before.isSame(next)) {
            return false;
        }
        due = now;
        if (next != null) {
            forgetAbsent(next.snapshot());
        }
        return before == null || next == null || !holdsSame(before.snapshot(), next.snapshot());
    }

    private static boolean holdsSame(Snapshot one, Snapshot other) {
        return one.environments().equals(other.environments())
                && one.devices().equals(other.devices())
                && one.listedDevices().equals(other.listedDevices())
                && one.missing().equals(other.missing());
    }

    /** Forgets what the past no longer shows: the same environment may be attached again. What was not observed may still be there. */
    private void forgetAbsent(Snapshot snapshot) {
        if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS) || terminated.size() > MAX_REMEMBERED) {
            terminated.retainAll(
                    snapshot.processes().stream().map(GpuProcess::id).collect(Collectors.toSet()));
        }
        if (snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS) || detached.size() > MAX_REMEMBERED) {
            detached.retainAll(snapshot.devices().stream()
                    .flatMap(device -> device.attachments().stream()
                            .map(attachment -> new AttachmentId(device.index(), attachment)))
                    .collect(Collectors.toSet()));
        }
    }

    /** Has a history know that the state was still the same in the last cycle before a mark. */
    void repeatLast(History of, long next, Duration interval) {
        var last = next - interval.toMillis();
        if (picture != null && last > mark && picture.snapshot().has(SnapshotPart.ENVIRONMENTS)) {
            of.recordUnchanged(picture.snapshot().host(), ticks(picture, last));
        }
    }

    /** Returns the observation as it would have been, in a list; empty if the host is not known. */
    List<HostReport> report(long now) {
        return picture == null
                ? List.of()
                : List.of(picture.report(remaining(picture.snapshot()), ticks(picture, now)));
    }

    private long ticks(Picture of, long now) {
        return of.ticks() + (now - mark) / MILLIS_PER_TICK;
    }

    private Snapshot remaining(Snapshot snapshot) {
        if (terminated.isEmpty() && detached.isEmpty()) {
            return snapshot;
        }
        return snapshot.withProcesses(snapshot.processes().stream()
                        .filter(process -> !terminated.contains(process.id()))
                        .toList())
                .withDevices(snapshot.devices().stream().map(this::remaining).toList());
    }

    private Device remaining(Device device) {
        return new Device(
                device.index(),
                device.totalMemory(),
                device.attachments().stream()
                        .filter(attachment -> !detached.contains(new AttachmentId(device.index(), attachment)))
                        .toList());
    }

    /** Leaves out from now on what an action ends, and returns whether that is new. */
    boolean apply(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> terminated.add(process.id());
            case Action.Detach(var _, var _, var device, var attachment) ->
                detached.add(new AttachmentId(device, attachment));
        };
    }
}
