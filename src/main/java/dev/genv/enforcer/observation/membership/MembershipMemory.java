package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The memberships that were decided in earlier observations. Each holds for one program of a process: execve(2) ends it. */
final class MembershipMemory {
    /** Incomplete observations forget nothing, and users choose the number of processes. */
    static final int MAX_REMEMBERED = 10_000;

    /** In the order in which they were last used. */
    private final LinkedHashMap<ProcessId, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

    /**
     * A decision.
     *
     * @param environ as it was then
     * @param isOverwritten whether the environ was overwritten in the last observation
     * @param hasChanged whether the process ever had another program, so that it may have one in the next observation too
     */
    private record Entry(ProgramEnviron environ, Decision decision, boolean isOverwritten, boolean hasChanged) {
        boolean isSettled() {
            return isOverwritten && !hasChanged && environ.addresses().areKnown();
        }

        Entry overwritten() {
            return new Entry(environ, decision, true, hasChanged);
        }

        Entry changed() {
            return new Entry(environ, decision, isOverwritten, true);
        }
    }

    void record(RelatedProcess process, Decision decision) {
        var before = entries.get(process.id());
        entries.put(
                process.id(),
                new Entry(
                        process.environ(),
                        decision,
                        process.named().isEmpty(),
                        before != null && (before.hasChanged || !before.environ.isOfSameProgram(process.environ()))));
        if (entries.size() > MAX_REMEMBERED) {
            entries.pollFirstEntry();
        }
    }

    /** Returns the decision about the same program of a process that has overwritten its environ. */
    Optional<Decision> recall(RelatedProcess process) {
        var entry = entries.get(process.id());
        if (entry == null) {
            return Optional.empty();
        }
        if (!entry.environ.isOfSameProgram(process.environ())) {
            entries.put(process.id(), entry.changed());
            return Optional.empty();
        }
        entries.put(process.id(), entry.overwritten());
        var by = entry.decision.by() == MembershipSource.ENVIRON ? MembershipSource.EARLIER : entry.decision.by();
        return Optional.of(new Decision(entry.decision.membership(), by));
    }

    /** Returns the processes whose relations are not needed, because they overwrote their environs and are remembered. */
    Set<ProcessId> settled() {
        return entries.entrySet().stream()
                .filter(entry -> entry.getValue().isSettled())
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Forgets all other processes. */
    void retain(Set<ProcessId> processes) {
        entries.keySet().retainAll(processes);
    }
}
