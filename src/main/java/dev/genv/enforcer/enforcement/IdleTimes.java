package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Measures for how long devices, attachments and processes were idle. A clock runs from an observation that finds idleness to the next one.
 * An observation that finds use forgets it, and one that finds neither, because something could not be observed, stops it.
 */
final class IdleTimes {
    /** A host that cannot be observed for longer begins anew. */
    private static final Duration KEPT = Duration.ofDays(7);

    final Clocks<Key> clocks = new Clocks<>(KEPT);
    private final int idleUtilization;

    /**
     * The key of a clock. Databases have these names.
     *
     * @param rule what is idle
     * @param subject bounded in its length
     */
    record Key(String host, Kind rule, String subject) {}

    enum Kind {
        /** Nothing runs on a device. */
        UNUSED,
        /** A device does not compute. */
        QUIET,
        /** Nothing runs on the device of an attachment. */
        ATTACHMENT,
        /** No device of a process computes. */
        PROCESS
    }

    /** What an observation finds. */
    private enum Finding {
        IDLE,
        BUSY,
        UNKNOWN
    }

    /** @param idleUtilization the highest utilization of a quiet device, in percent */
    IdleTimes(int idleUtilization) {
        this.idleUtilization = idleUtilization;
    }

    /** Remembers the hosts that a cycle tried to observe, and returns what is idle now. */
    Idleness remember(Collection<Snapshot> snapshots, long now) {
        var found = new Found(
                new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashSet<>());
        var observed = snapshots.stream()
                .filter(snapshot -> snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS))
                .collect(Collectors.toUnmodifiableMap(Snapshot::host, Function.identity(), (first, _) -> first));
        observed.values().forEach(snapshot -> find(snapshot, found));
        clocks.forget(key -> {
            var host = observed.get(key.host());
            return host != null
                    && (areAttachmentsKnown(host) || key.rule() != Kind.ATTACHMENT)
                    && !found.idle.containsKey(key)
                    && !found.unknown.contains(key);
        });
        clocks.run(found.idle, now);
        var unused = elapsed(found.unused, now);
        var attachments = new HashMap<>(elapsed(found.attachments, now));
        // Use may end while the attachments are unknown: then only the clock of the device begins anew.
        attachments.replaceAll((key, idle) ->
                Collections.min(List.of(idle, unused.getOrDefault(new HostDevice(key.host(), key.device()), idle))));
        return new Idleness(unused, elapsed(found.quiet, now), attachments, elapsed(found.processes, now));
    }

    private static boolean areAttachmentsKnown(Snapshot snapshot) {
        return snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
    }

    private <T> Map<T, Duration> elapsed(Map<T, Key> idle, long now) {
        var elapsed = new HashMap<T, Duration>();
        idle.forEach((subject, key) -> elapsed.put(subject, clocks.elapsed(key, now)));
        return elapsed;
    }

    /**
     * The clocks of what is idle now, and of what may be.
     *
     * @param idle each with its uid
     */
    private record Found(
            Map<HostDevice, Key> unused,
            Map<HostDevice, Key> quiet,
            Map<Appearances.Key, Key> attachments,
            Map<HostProcess, Key> processes,
            Map<Key, @Nullable Long> idle,
            Set<Key> unknown) {
        <T> void add(Map<T, Key> subjects, T subject, Key key, Finding finding, @Nullable Long uid) {
            switch (finding) {
                case IDLE -> {
                    subjects.put(subject, key);
                    idle.put(key, uid);
                }
                case UNKNOWN -> unknown.add(key);
                case BUSY -> {}
            }
        }
    }

    private void find(Snapshot snapshot, Found found) {
        var host = snapshot.host();
        var utilization = utilization(snapshot);
        var unused = unused(snapshot, utilization);
        for (var device : snapshot.listedDevices()) {
            var its = new HostDevice(host, device);
            var subject = "device " + device;
            var isUnused = finding(unused, device);
            var isQuiet = isUnused == Finding.IDLE ? Finding.IDLE : finding(utilization, device);
            found.add(found.unused, its, new Key(host, Kind.UNUSED, subject), isUnused, null);
            found.add(found.quiet, its, new Key(host, Kind.QUIET, subject), isQuiet, null);
        }
        if (areAttachmentsKnown(snapshot)) {
            Claims.forEachHolding(
                    snapshot,
                    (environment, device, user) -> found.add(
                            found.attachments,
                            new Appearances.Key(host, environment.eid(), device),
                            new Key(host, Kind.ATTACHMENT, Claims.held(environment, device, user)),
                            finding(unused, device),
                            environment.uid()));
        }
        for (var process : snapshot.processes()) {
            var id = process.id();
            found.add(
                    found.processes,
                    new HostProcess(host, id),
                    new Key(host, Kind.PROCESS, "process " + id.pid() + " " + id.startTime()),
                    quiet(process, utilization),
                    process.uid());
        }
    }

    private static Finding finding(Map<Integer, Finding> findings, int device) {
        return findings.getOrDefault(device, Finding.UNKNOWN);
    }

    private Map<Integer, Finding> utilization(Snapshot snapshot) {
        var findings = new HashMap<Integer, Finding>();
        snapshot.details()
                .utilization()
                .forEach((device, percent) ->
                        findings.put(device, percent <= idleUtilization ? Finding.IDLE : Finding.BUSY));
        return findings;
    }

    /** A device that computes is used, although no process is listed there and the driver does not report its memory. */
    private static Map<Integer, Finding> unused(Snapshot snapshot, Map<Integer, Finding> utilization) {
        var used = new HashSet<>(snapshot.unexplained().memory().keySet());
        snapshot.processes().stream()
                .filter(process -> !process.isProtected())
                .forEach(process -> used.addAll(process.devices()));
        var unknown = new HashSet<>(snapshot.unexplained().unknown());
        unknown.addAll(snapshot.unexplained().suspected());
        var findings = new HashMap<Integer, Finding>();
        for (var device : snapshot.listedDevices()) {
            var isUsed = used.contains(device) || finding(utilization, device) == Finding.BUSY;
            findings.put(device, isUsed ? Finding.BUSY : unknown.contains(device) ? Finding.UNKNOWN : Finding.IDLE);
        }
        return findings;
    }

    /** A process can compute on one of its devices while another one is quiet. */
    private static Finding quiet(GpuProcess process, Map<Integer, Finding> utilization) {
        var findings = process.devices().stream()
                .map(device -> finding(utilization, device))
                .collect(Collectors.toUnmodifiableSet());
        if (findings.contains(Finding.BUSY)) {
            return Finding.BUSY;
        }
        return findings.equals(Set.of(Finding.IDLE)) ? Finding.IDLE : Finding.UNKNOWN;
    }
}
