package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.Fleet.Idleness.HostDevice;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Measures for how long devices and processes were idle. A clock runs from an observation that finds idleness to the next one.
 * An observation that finds use forgets it, and one that finds neither, because something could not be observed, stops it.
 */
final class IdleTimes {
    /** A host that cannot be observed for longer begins anew. */
    private static final Duration KEPT = Duration.ofDays(7);

    private final Clocks clocks = new Clocks(KEPT);
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
        var idle = new HashMap<Clocks.Key, @Nullable Long>();
        var unknown = new HashSet<Clocks.Key>();
        var observed = new HashSet<String>();
        var found = new Found(new HashMap<>(), new HashMap<>(), new HashMap<>());
        for (var snapshot : snapshots) {
            if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS)) {
                observed.add(snapshot.host());
                new Observation(snapshot, found, idle, unknown).record();
            }
        }
        clocks.forget(key -> observed.contains(key.host()) && !idle.containsKey(key) && !unknown.contains(key));
        clocks.record(idle, now);
        var unused = elapsed(found.unused, now);
        return new Idleness(
                unused,
                elapsed(found.quiet, now),
                attachments(snapshots, unused, appearances, now),
                elapsed(found.processes, now));
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

    private <T> Map<T, Duration> elapsed(Map<T, Clocks.Key> keys, long now) {
        return keys.entrySet().stream()
                .collect(Collectors.toUnmodifiableMap(
                        Map.Entry::getKey, entry -> clocks.elapsed(entry.getValue(), now)));
    }

    void forgetHost(Predicate<String> which) {
        clocks.forget(key -> which.test(key.host()));
    }

    Map<Clocks.Key, Clocks.Clock> all() {
        return clocks.all();
    }

    void restore(Map<Clocks.Key, Clocks.Clock> saved) {
        clocks.restore(saved);
    }

    /** What is idle now, each with its clock. */
    private record Found(
            Map<HostDevice, Clocks.Key> unused,
            Map<HostDevice, Clocks.Key> quiet,
            Map<HostProcess, Clocks.Key> processes) {}

    /** What one observation of a host says. */
    private final class Observation {
        private final Snapshot snapshot;
        private final Found found;
        private final Map<Clocks.Key, @Nullable Long> idle;
        private final Set<Clocks.Key> unknown;
        private final Map<Integer, @Nullable Integer> utilization;
        private final Set<Integer> used = new HashSet<>();

        Observation(Snapshot snapshot, Found found, Map<Clocks.Key, @Nullable Long> idle, Set<Clocks.Key> unknown) {
            this.snapshot = snapshot;
            this.found = found;
            this.idle = idle;
            this.unknown = unknown;
            utilization = new HashMap<>();
            for (var status : snapshot.details().devices()) {
                utilization.put(status.index(), status.utilization());
            }
            snapshot.processes().stream()
                    .filter(process -> !isProtected(process))
                    .forEach(process -> used.addAll(process.devices()));
            snapshot.unlisted().holders().stream()
                    .filter(holder -> !isProtected(holder.process()))
                    .forEach(holder -> used.addAll(holder.used()));
            used.addAll(snapshot.unlisted().memory().keySet());
        }

        void record() {
            for (var device : snapshot.listedDevices()) {
                var its = new HostDevice(snapshot.host(), device);
                var isUnused = !used.contains(device);
                if (isUnused) {
                    add(found.unused::put, its, Kind.UNUSED, "device " + device, null);
                }
                var quiet = isUnused ? Boolean.TRUE : isQuiet(device);
                if (quiet == null) {
                    unknown.add(key(Kind.QUIET, "device " + device));
                } else if (quiet) {
                    add(found.quiet::put, its, Kind.QUIET, "device " + device, null);
                }
            }
            snapshot.processes().forEach(this::record);
        }

        /** A process can compute on one of its devices while another one is quiet. */
        private void record(GpuProcess process) {
            var subject = "process %d %d".formatted(process.pid(), process.id().startTime());
            var quiet = process.devices().stream().map(this::isQuiet).toList();
            if (quiet.stream().anyMatch(Boolean.FALSE::equals)) {
                return;
            }
            if (quiet.isEmpty() || quiet.stream().anyMatch(Objects::isNull)) {
                unknown.add(key(Kind.PROCESS, subject));
            } else {
                add(
                        found.processes::put,
                        new HostProcess(snapshot.host(), process.id()),
                        Kind.PROCESS,
                        subject,
                        process.uid());
            }
        }

        /** Returns null if the utilization is unknown. */
        private @Nullable Boolean isQuiet(int device) {
            var percent = utilization.get(device);
            return percent == null ? null : percent <= idleUtilization;
        }

        private <T> void add(BiConsumer<T, Clocks.Key> map, T its, Kind kind, String subject, @Nullable Long uid) {
            var key = key(kind, subject);
            idle.put(key, uid);
            map.accept(its, key);
        }

        private Clocks.Key key(Kind kind, String subject) {
            return new Clocks.Key(snapshot.host(), kind.name(), subject);
        }

        private static boolean isProtected(GpuProcess process) {
            return process.immunity() != null && process.immunity().kind() == Immunity.Kind.PROTECTED;
        }
    }
}
