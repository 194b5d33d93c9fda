package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.Fleet.Idleness.HostDevice;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Measures for how long devices and processes were idle. A clock runs from an observation that finds idleness to the next one.
 * An observation that finds use forgets it, and one that finds neither, because something could not be observed, stops it.
 */
final class IdleTimes {
    /** A host that cannot be observed for longer begins anew. */
    private static final Duration KEPT = Duration.ofDays(7);

    final Clocks clocks = new Clocks(KEPT);
    private final int idleUtilization;

    /** The kinds of clocks, whose names are the rules of their keys. */
    private enum Kind {
        UNUSED,
        QUIET,
        PROCESS
    }

    /** @param idleUtilization the highest utilization of a quiet device, in percent */
    IdleTimes(int idleUtilization) {
        this.idleUtilization = idleUtilization;
    }

    /** Records the hosts that a cycle tried to observe, and returns what is idle now. */
    Idleness record(Collection<Snapshot> snapshots, Appearances appearances, long now) {
        var observed = snapshots.stream()
                .filter(snapshot -> snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS))
                .toList();
        var found = new Found(new HashMap<>(), new HashSet<>());
        observed.forEach(snapshot -> find(snapshot, found));
        var hosts = observed.stream().map(Snapshot::host).collect(Collectors.toUnmodifiableSet());
        clocks.forget(
                key -> hosts.contains(key.host()) && !found.idle.containsKey(key) && !found.unknown.contains(key));
        clocks.record(found.idle, now);
        var devices = observed.stream()
                .flatMap(snapshot ->
                        snapshot.listedDevices().stream().map(device -> new HostDevice(snapshot.host(), device)))
                .toList();
        var processes = observed.stream()
                .flatMap(snapshot ->
                        snapshot.processes().stream().map(process -> new HostProcess(snapshot.host(), process.id())))
                .toList();
        var unused = elapsed(devices, device -> key(Kind.UNUSED, device), found, now);
        return new Idleness(
                unused,
                elapsed(devices, device -> key(Kind.QUIET, device), found, now),
                attachments(snapshots, unused, appearances, now),
                elapsed(processes, IdleTimes::key, found, now));
    }

    /** An attachment is idle as long as its device, but not longer than it exists. So it needs no clock of its own. */
    private static Map<Appearances.Key, Duration> attachments(
            Collection<Snapshot> snapshots, Map<HostDevice, Duration> unused, Appearances appearances, long now) {
        var attachments = new HashMap<Appearances.Key, Duration>();
        for (var snapshot : snapshots) {
            for (var device : snapshot.devices()) {
                var idle = unused.get(new HostDevice(snapshot.host(), device.index()));
                if (idle != null) {
                    for (var attachment : device.attachments()) {
                        var since = appearances.of(snapshot.host(), attachment.eid(), device.index());
                        var age = since == null ? idle : Duration.ofNanos(now - since);
                        attachments.put(
                                new Appearances.Key(snapshot.host(), attachment.eid(), device.index()),
                                age.compareTo(idle) < 0 ? age : idle);
                    }
                }
            }
        }
        return attachments;
    }

    private <T> Map<T, Duration> elapsed(List<T> subjects, Function<T, Clocks.Key> key, Found found, long now) {
        return subjects.stream()
                .distinct()
                .filter(subject -> found.idle.containsKey(key.apply(subject)))
                .collect(Collectors.toUnmodifiableMap(
                        Function.identity(), subject -> clocks.elapsed(key.apply(subject), now)));
    }

    private static Clocks.Key key(Kind kind, HostDevice device) {
        return new Clocks.Key(device.host(), kind.name(), "device " + device.device());
    }

    private static Clocks.Key key(HostProcess process) {
        var id = process.id();
        return new Clocks.Key(process.host(), Kind.PROCESS.name(), "process " + id.pid() + " " + id.startTime());
    }

    /** The clocks of what is idle now, each with its uid, and of what may be. */
    private record Found(Map<Clocks.Key, @Nullable Long> idle, Set<Clocks.Key> unknown) {
        /** @param isIdle null if it is unknown */
        void add(Clocks.Key key, @Nullable Boolean isIdle, @Nullable Long uid) {
            if (isIdle == null) {
                unknown.add(key);
            } else if (isIdle) {
                idle.put(key, uid);
            }
        }
    }

    private void find(Snapshot snapshot, Found found) {
        var used = used(snapshot);
        var quiet = new HashMap<Integer, Boolean>();
        snapshot.details().utilization().forEach((device, percent) -> quiet.put(device, percent <= idleUtilization));
        for (var device : snapshot.listedDevices()) {
            var its = new HostDevice(snapshot.host(), device);
            var isUnused = !used.contains(device);
            found.add(key(Kind.UNUSED, its), isUnused, null);
            found.add(key(Kind.QUIET, its), isUnused ? Boolean.TRUE : quiet.get(device), null);
        }
        for (var process : snapshot.processes()) {
            found.add(key(new HostProcess(snapshot.host(), process.id())), isQuiet(process, quiet), process.uid());
        }
    }

    private static Set<Integer> used(Snapshot snapshot) {
        var used = new HashSet<>(snapshot.unlisted().memory().keySet());
        snapshot.processes().stream()
                .filter(process -> !process.isProtected())
                .forEach(process -> used.addAll(process.devices()));
        snapshot.unlisted().holders().stream()
                .filter(holder -> !holder.process().isProtected())
                .forEach(holder -> used.addAll(holder.used()));
        return used;
    }

    /** A process can compute on one of its devices while another one is quiet. Returns null if the utilization is unknown. */
    private static @Nullable Boolean isQuiet(GpuProcess process, Map<Integer, Boolean> quiet) {
        var devices = process.devices();
        if (devices.stream().map(quiet::get).anyMatch(Boolean.FALSE::equals)) {
            return Boolean.FALSE;
        }
        var isUnknown = devices.isEmpty() || devices.stream().map(quiet::get).anyMatch(Objects::isNull);
        return isUnknown ? null : Boolean.TRUE;
    }
}
