package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Detects configured hosts that are the same machine. The machine counts once, under one host name, which stays the same
 * because processes and violations are identified by it.
 */
final class DuplicateHosts {
    /** The machine id that each host reported last. */
    private final Map<String, String> machines = new HashMap<>();
    /** The host name under which each machine counts, by machine id. */
    private final Map<String, String> counted = new HashMap<>();

    /** Returns the snapshots, with empty ones for hosts whose machine counts under another name. */
    List<Snapshot> collapse(List<Snapshot> snapshots) {
        var names = snapshots.stream().map(Snapshot::host).collect(Collectors.toUnmodifiableSet());
        machines.keySet().retainAll(names);
        snapshots.forEach(this::remember);
        counted.entrySet().removeIf(entry -> !isCurrent(entry, names));
        var reached = snapshots.stream()
                .filter(Snapshot::isReached)
                .map(Snapshot::host)
                .collect(Collectors.toUnmodifiableSet());
        return snapshots.stream()
                .map(snapshot -> {
                    var host = snapshot.host();
                    var machine = machines.get(host);
                    var other = machine == null ? host : counted.computeIfAbsent(machine, _ -> host);
                    return other.equals(host) ? snapshot : duplicate(snapshot, other, reached.contains(other));
                })
                .toList();
    }

    private void remember(Snapshot snapshot) {
        var machine = snapshot.details().machine();
        if (machine != null) { // a missing machine id does not make it another machine
            machines.put(snapshot.host(), machine);
        }
    }

    private boolean isCurrent(Map.Entry<String, String> entry, Set<String> names) {
        return names.contains(entry.getValue()) && entry.getKey().equals(machines.get(entry.getValue()));
    }

    /** Signalled processes are known by the name that counts, so without its answer the machine counts as unreachable. */
    private static Snapshot duplicate(Snapshot snapshot, String other, boolean isSeen) {
        var host = snapshot.host();
        var why = new Problem(
                ProblemCode.DUPLICATE_HOST,
                "this is the same machine as %s by its machine id and counts under that name: remove one of them from the list"
                        .formatted(other));
        var empty = isSeen
                ? new Snapshot(host, List.of(), List.of(), List.of(), Set.of(), Set.of(), List.of(why))
                : Snapshot.unseen(host, why);
        return empty.with(snapshot.details());
    }
}
