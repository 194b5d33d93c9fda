package dev.genv.enforcer.recording.change;

import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.model.Unlisted;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What changed on a host from one recorded state to the next.
 *
 * @param listedDevices all of them; empty if none changed, and so on for the others
 */
public record HostChange(
        ProcessChange processes,
        MapChange<ProcessId, Unlisted.Holder> holders,
        MapChange<String, Environment> environments,
        MapChange<Integer, Device> devices,
        MapChange<Integer, Long> uidsOfPids,
        Optional<Set<Integer>> listedDevices,
        Optional<List<SubordinateUids.Range>> subordinateUids,
        Optional<Unobserved> unobserved) {

    /** The parts that were not observed; see {@link HostState}. */
    public record Unobserved(Set<SnapshotPart> missing, Set<SnapshotPart> hidden) {}

    static <T> Optional<T> changed(T before, T after) {
        return before.equals(after) ? Optional.empty() : Optional.of(after);
    }

    public boolean isEmpty() {
        return processes.isEmpty()
                && holders.isEmpty()
                && environments.isEmpty()
                && devices.isEmpty()
                && uidsOfPids.isEmpty()
                && listedDevices.isEmpty()
                && subordinateUids.isEmpty()
                && unobserved.isEmpty();
    }

    /**
     * Returns the state after this change.
     *
     * @throws UnreadableException if it does not follow from that state
     */
    public HostState applyTo(HostState before) throws UnreadableException {
        var parts = unobserved.orElseGet(() -> new Unobserved(before.missing(), before.hidden()));
        return new HostState(
                processes.applyTo(before.processes()),
                holders.applyTo(before.holders()),
                environments.applyTo(before.environments()),
                devices.applyTo(before.devices()),
                listedDevices.orElse(before.listedDevices()),
                uidsOfPids.applyTo(before.uidsOfPids()),
                subordinateUids.orElse(before.subordinateUids()),
                parts.missing,
                parts.hidden);
    }
}
