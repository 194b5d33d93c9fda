package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.RuleName;
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
 * The active violations that the last cycle did not find and that are not known to be over. Users choose how many there are
 * where a host can never be observed completely, so their processes are verified, and what is kept is bounded in bytes.
 */
final class AbsentViolations {
    /** About how many processes of a host are verified in one cycle: a shell there reads the files of each. */
    static final int MOST_VERIFIED = 1_000;

    private final long mostBytes;

    /** First comes the one that was not verified for the longest time. */
    private final SequencedMap<Violation.Key, JournalEntry> entries = new LinkedHashMap<>();

    AbsentViolations(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    /**
     * Records all that there are now.
     *
     * @return those of them that there is no room for
     */
    List<Violation.Key> record(Map<Violation.Key, JournalEntry> now) {
        entries.keySet().retainAll(now.keySet());
        entries.putAll(now);
        var surplus = new ArrayList<Violation.Key>();
        var bytes =
                entries.values().stream().mapToLong(ResolvedViolations::size).sum();
        while (bytes > mostBytes) {
            var first = entries.pollFirstEntry();
            bytes -= ResolvedViolations.size(first.getValue());
            surplus.add(first.getKey());
        }
        return surplus;
    }

    /** The processes that the next cycle verifies. Where a host has many of them, the violations take turns. */
    Set<HostProcess> processesToVerify() {
        var byHost = new HashMap<@Nullable String, Set<HostProcess>>();
        for (var entry : List.copyOf(entries.entrySet())) {
            var processes = processesOf(entry.getValue().violation());
            var ofHost = byHost.computeIfAbsent(entry.getKey().host(), _ -> new HashSet<>());
            if (!processes.isEmpty() && ofHost.size() < MOST_VERIFIED) {
                ofHost.addAll(processes);
                entries.putLast(entry.getKey(), entry.getValue());
            }
        }
        return byHost.values().stream().flatMap(Set::stream).collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Whether a violation that a cycle did not find is over.
     *
     * @param ended the processes of which a host reports that they have ended
     */
    static boolean isOver(Violation violation, Set<HostProcess> ended, Fleet fleet) {
        var processes = processesOf(violation);
        return (!processes.isEmpty() && ended.containsAll(processes)) || wouldBeFound(violation, fleet);
    }

    /** Those without which it is over: none of a quota, which is about attachments. */
    private static Set<HostProcess> processesOf(Violation violation) {
        var host = violation.key().host();
        return host == null
                ? Set.of()
                : violation.processes().stream()
                        .map(process -> new HostProcess(host, process.id()))
                        .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Whether enough was seen to find it again. No more is asked for than that: else whoever spoils one file for ever could
     * fill the memory with what stands in another, and one machine that is gone for good would keep everything that
     * happens on the others. A machine that is no longer in the fleet has no part in anything.
     */
    private static boolean wouldBeFound(Violation violation, Fleet fleet) {
        return fleet.snapshots().stream()
                .filter(snapshot -> violation.hosts().contains(snapshot.host()))
                .allMatch(snapshot -> Collections.disjoint(snapshot.missing(), violation.shownBy())
                        && !isDoubtful(violation, snapshot));
    }

    /** Whether a process of it still runs of which nobody could see at this moment where it belongs. */
    private static boolean isDoubtful(Violation violation, Snapshot snapshot) {
        if (violation.rule() == RuleName.MAX_DEVICES_PER_USER) {
            return false; // what is attached tells it, whoever runs there
        }
        var processes = violation.processes().stream().map(GpuProcess::id).collect(Collectors.toUnmodifiableSet());
        return snapshot.processes().stream()
                .filter(now -> processes.contains(now.id()))
                .anyMatch(now -> now.membership() instanceof Membership.Unknown unknown && !unknown.listed());
    }
}
