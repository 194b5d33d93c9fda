package dev.genv.enforcer.recording.change;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Unlisted;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * What is recorded of the last snapshot of a host: everything on which rules decide.
 *
 * @param holders the processes that hold a device and are not listed
 * @param missing the parts that could not be observed
 * @param hidden those of the missing parts of which nothing was observed. Their last content is kept, so that it need not be recorded
 *     again when the host answers again
 */
public record HostState(
        Map<ProcessId, GpuProcess> processes,
        Map<ProcessId, Unlisted.Holder> holders,
        Map<String, Environment> environments,
        Map<Integer, Device> devices,
        Set<Integer> listedDevices,
        Map<Integer, Long> uidsOfPids,
        List<SubordinateUids.Range> subordinateUids,
        Set<SnapshotPart> missing,
        Set<SnapshotPart> hidden) {
    public static final HostState EMPTY =
            new HostState(Map.of(), Map.of(), Map.of(), Map.of(), Set.of(), Map.of(), List.of(), Set.of(), Set.of());

    /** Returns the state after a snapshot; small changes of memory are left out. */
    public HostState after(Snapshot observed) {
        var now = MemoryGranularity.apply(observed, processes);
        var hides = hiddenBy(now);
        var processes = hides.contains(SnapshotPart.PROCESSES);
        var environments = hides.contains(SnapshotPart.ENVIRONMENTS);
        return new HostState(
                processes ? this.processes : byKey(now.processes(), GpuProcess::id, GpuProcess::withoutWorkload),
                processes
                        ? holders
                        : byKey(
                                now.unlisted().holders(),
                                holder -> holder.process().id(),
                                HostState::recorded),
                environments ? this.environments : byKey(now.environments(), Environment::eid, Function.identity()),
                hides.contains(SnapshotPart.ATTACHMENTS)
                        ? devices
                        : byKey(now.devices(), Device::index, Function.identity()),
                processes ? listedDevices : now.listedDevices(),
                environments ? uidsOfPids : now.uidsOfPids(),
                environments ? subordinateUids : now.subordinateUids().ranges(),
                now.missing(),
                hides);
    }

    private Set<SnapshotPart> hiddenBy(Snapshot now) {
        var hides = EnumSet.noneOf(SnapshotPart.class);
        if (now.allProcesses().isEmpty() && now.listedDevices().isEmpty()) {
            hides.add(SnapshotPart.PROCESSES);
        }
        if (now.environments().isEmpty()
                && now.uidsOfPids().isEmpty()
                && now.subordinateUids().ranges().isEmpty()) {
            hides.add(SnapshotPart.ENVIRONMENTS);
        }
        if (now.devices().isEmpty()) {
            hides.add(SnapshotPart.ATTACHMENTS);
        }
        hides.retainAll(now.missing());
        return Set.copyOf(hides);
    }

    /** Returns what was observed, as a snapshot without problems. */
    public Snapshot snapshot(String host) {
        var processes = hidden.contains(SnapshotPart.PROCESSES);
        var environments = hidden.contains(SnapshotPart.ENVIRONMENTS);
        return new Snapshot(
                host,
                listed(this.processes.values(), processes),
                new Unlisted(Map.of(), listed(holders.values(), processes)),
                listed(this.environments.values(), environments),
                listed(devices.values(), hidden.contains(SnapshotPart.ATTACHMENTS)),
                processes ? Set.of() : listedDevices,
                environments ? Map.of() : uidsOfPids,
                environments ? SubordinateUids.NONE : new SubordinateUids(subordinateUids),
                missing,
                List.of());
    }

    private static <T> List<T> listed(Collection<T> all, boolean isHidden) {
        return isHidden ? List.of() : List.copyOf(all);
    }

    private static Unlisted.Holder recorded(Unlisted.Holder holder) {
        return new Unlisted.Holder(holder.process().withoutWorkload(), holder.since(), holder.used());
    }

    private static <K, V> Map<K, V> byKey(Collection<V> all, Function<V, K> key, Function<V, V> recorded) {
        var byKey = LinkedHashMap.<K, V>newLinkedHashMap(all.size());
        all.forEach(each -> byKey.put(key.apply(each), recorded.apply(each)));
        return byKey;
    }

    /** Returns the difference to a later state. */
    public HostChange changeTo(HostState after) {
        return new HostChange(
                ProcessChange.between(processes, after.processes),
                MapChange.between(holders, after.holders),
                MapChange.between(environments, after.environments),
                MapChange.between(devices, after.devices),
                MapChange.between(uidsOfPids, after.uidsOfPids),
                HostChange.changed(listedDevices, after.listedDevices),
                HostChange.changed(subordinateUids, after.subordinateUids),
                HostChange.changed(
                        new HostChange.Unobserved(missing, hidden),
                        new HostChange.Unobserved(after.missing, after.hidden)));
    }
}
