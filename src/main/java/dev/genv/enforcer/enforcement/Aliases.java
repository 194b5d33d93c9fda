package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Remembers which names are one machine. What is on it counts once, for one name, and that stays the same: processes and
 * violations are known by it.
 */
final class Aliases {
    /** The machine that each host was when it last answered. */
    private final Map<String, String> machines = new HashMap<>();
    /** The host that counts, by its machine. */
    private final Map<String, String> counted = new HashMap<>();

    /** The same reports, with nothing in those of machines that count under another name. */
    List<HostReport> settle(List<HostReport> reports) {
        var names = reports.stream().map(HostReport::host).collect(Collectors.toUnmodifiableSet());
        machines.keySet().retainAll(names);
        reports.forEach(this::learn);
        counted.entrySet().removeIf(entry -> !isStillThat(entry, names));
        var reached = reports.stream()
                .filter(HostReport::reached)
                .map(HostReport::host)
                .collect(Collectors.toUnmodifiableSet());
        var settled = new ArrayList<HostReport>();
        for (var report : reports) {
            var machine = machines.get(report.host());
            var other = machine == null ? report.host() : counted.computeIfAbsent(machine, _ -> report.host());
            settled.add(other.equals(report.host()) ? report : duplicate(report, other, reached.contains(other)));
        }
        return settled;
    }

    private void learn(HostReport report) {
        var machine = report.machine();
        if (machine != null) { // that it could not be told this time does not make it another one
            machines.put(report.host(), machine);
        }
    }

    private boolean isStillThat(Map.Entry<String, String> entry, Set<String> names) {
        return names.contains(entry.getValue()) && entry.getKey().equals(machines.get(entry.getValue()));
    }

    /** While the name that counts is out of reach, the machine is: what was asked of it is known by that name. */
    private static HostReport duplicate(HostReport report, String other, boolean isSeen) {
        var why = new Problem(
                ProblemCode.DUPLICATE_HOST,
                "as it says itself, this is the same machine as %s, under whose name it counts: take one of them out of the list"
                        .formatted(other));
        return report.with(
                isSeen
                        ? new Snapshot(report.host(), List.of(), List.of(), List.of(), Set.of(), Set.of(), List.of(why))
                        : Snapshot.unseen(report.host(), why));
    }
}
