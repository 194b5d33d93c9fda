package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The active violations that the last cycle did not find and that may not be over. If a host can never be observed completely, users
 * choose their number. So their processes are verified, and their size is bounded.
 */
final class AbsentViolations {
    /** The approximate number of processes of a host that are verified in one cycle, because the agent of a machine reads files of each one. */
    static final int MAX_VERIFIED = 1_000;

    private final long maxSize;

    /** Ordered by the time of the last verification, oldest first. */
    private final SequencedMap<Violation.Key, ViolationRecord> entries = new LinkedHashMap<>();

    AbsentViolations(long maxSize) {
        this.maxSize = maxSize;
    }

    /** Remembers the present ones, and returns the ones above the limit, of the largest shares first. */
    List<Violation.Key> remember(Map<Violation.Key, ViolationRecord> now) {
        entries.keySet().retainAll(now.keySet());
        entries.putAll(now);
        var surplus = new ArrayList<Violation.Key>();
        var sizes = new HashMap<Share, Long>();
        entries.values().forEach(entry -> sizes.merge(Share.of(entry.violation()), entry.size(), Long::sum));
        var size = sizes.values().stream().mapToLong(Long::longValue).sum();
        while (size > maxSize) {
            var largest = Collections.max(sizes.entrySet(), Map.Entry.comparingByValue())
                    .getKey();
            var first = entries.values().stream()
                    .filter(entry -> Share.of(entry.violation()).equals(largest))
                    .findFirst()
                    .orElseThrow();
            size -= first.size();
            sizes.merge(largest, -first.size(), Long::sum);
            entries.remove(first.violation().key());
            surplus.add(first.violation().key());
        }
        return surplus;
    }

    /** Returns the processes that the next cycle verifies. If a host has many, the violations take turns. */
    Set<HostProcess> processesToVerify() {
        var byHost = new HashMap<@Nullable String, Set<HostProcess>>();
        for (var entry : List.copyOf(entries.entrySet())) {
            var processes = processesOf(entry.getValue().violation());
            var ofHost = byHost.computeIfAbsent(entry.getKey().host(), _ -> new HashSet<>());
            if (!processes.isEmpty() && ofHost.size() < MAX_VERIFIED) {
                ofHost.addAll(processes);
                entries.putLast(entry.getKey(), entry.getValue());
            }
        }
        return byHost.values().stream().flatMap(Set::stream).collect(Collectors.toUnmodifiableSet());
    }

    /** Whether a violation that a cycle did not find is over, if hosts report that these processes have exited. */
    static boolean isResolved(Violation violation, Set<HostProcess> ended, Fleet fleet) {
        var processes = processesOf(violation);
        return (!processes.isEmpty() && ended.containsAll(processes)) || wouldBeFound(violation, fleet);
    }

    /** Returns the processes without which the violation is over; none for a quota, which depends on attachments. */
    private static Set<HostProcess> processesOf(Violation violation) {
        var host = violation.key().host();
        return host == null
                ? Set.of()
                : violation.processes().stream()
                        .map(process -> new HostProcess(host, process.id()))
                        .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Whether enough was observed to find the violation again. No more is required: otherwise a user who makes one file invalid for
     * ever could keep violations of other files active, and a machine that never answers could keep those of other machines active.
     * A machine that is no longer configured does not count.
     */
    private static boolean wouldBeFound(Violation violation, Fleet fleet) {
        return fleet.snapshots().stream()
                .filter(snapshot -> violation.hosts().contains(snapshot.host()))
                .allMatch(snapshot -> Collections.disjoint(snapshot.missing(), violation.requiredParts())
                        && !isUncertain(violation, snapshot));
    }

    /** Whether one of its processes still runs, and its membership, by which the rule decides, is unknown in this cycle. */
    private static boolean isUncertain(Violation violation, Snapshot snapshot) {
        if (!violation.rule().isOfMemberships()) {
            return false;
        }
        var processes = violation.processes().stream().map(GpuProcess::id).collect(Collectors.toUnmodifiableSet());
        return snapshot.processes().stream()
                .filter(now -> processes.contains(now.id()))
                .anyMatch(now -> now.membership() instanceof Membership.Unknown);
    }

    /** The hosts that were part of the violation and could not be observed. */
    static Set<String> unseenHosts(Violation before, Fleet fleet) {
        return !before.rule().isOfFleet()
                ? Set.of()
                : fleet.snapshots().stream()
                        .filter(snapshot -> before.hosts().contains(snapshot.host()))
                        .filter(snapshot -> !Collections.disjoint(snapshot.missing(), before.requiredParts()))
                        .map(Snapshot::host)
                        .collect(Collectors.toUnmodifiableSet());
    }
}
