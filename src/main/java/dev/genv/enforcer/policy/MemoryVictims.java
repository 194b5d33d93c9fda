package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Chooses which processes to end where environments of one machine use too much memory: as few and as small ones as will
 * do, and always the same ones.
 */
final class MemoryVictims {
    private final List<MemoryShare> over;
    private final String host;
    private final Ending ending;
    private final Set<ProcessId> victims = new LinkedHashSet<>();

    MemoryVictims(List<MemoryShare> over, String host, Ending ending) {
        this.over = over;
        this.host = host;
        this.ending = ending;
    }

    Set<ProcessId> choose() {
        over.forEach(this::relieve);
        prune();
        return Set.copyOf(victims);
    }

    private void relieve(MemoryShare share) {
        var candidates = share.processes().stream()
                .filter(this::stays)
                .filter(process -> share.known(process).compareTo(Memory.ZERO) > 0)
                .sorted(smallestFirst(share))
                .toList();
        while (isOver(share)) {
            var excess = share.usedBy(this::stays).minus(share.capacity());
            var left = candidates.stream().filter(this::stays).toList();
            var victim = left.stream()
                    .filter(process -> share.known(process).compareTo(excess) >= 0)
                    .findFirst()
                    .orElseGet(() -> largest(left, share));
            victims.add(victim.id());
        }
    }

    /** Takes back every victim that has become superfluous through a later one, the first chosen first. */
    private void prune() {
        for (var victim : List.copyOf(victims)) {
            victims.remove(victim);
            if (over.stream().anyMatch(this::isOver)) {
                victims.add(victim);
            }
        }
    }

    private boolean isOver(MemoryShare share) {
        return share.usedBy(this::stays).compareTo(share.capacity()) > 0;
    }

    private boolean stays(GpuProcess process) {
        return !victims.contains(process.id()) && !ending.covers(host, process);
    }

    /** Among equals the newest comes first, then the higher pid: the least work is lost. */
    private static Comparator<GpuProcess> smallestFirst(MemoryShare share) {
        return Comparator.comparing(share::known).thenComparing(newestFirst());
    }

    private static GpuProcess largest(List<GpuProcess> processes, MemoryShare share) {
        return processes.stream()
                .min(Comparator.<GpuProcess, Memory>comparing(share::known, Comparator.reverseOrder())
                        .thenComparing(newestFirst()))
                .orElseThrow();
    }

    private static Comparator<GpuProcess> newestFirst() {
        return Comparator.comparingLong((GpuProcess process) -> process.id().startTime())
                .thenComparingInt(GpuProcess::pid)
                .reversed();
    }
}
