package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the processes to terminate if environments of one machine exceed their memory capacity: as few and as small as possible,
 * and always the same ones. Sums are updated and not recomputed, because users choose the number of processes.
 */
public final class MemoryVictims {
    /** Among equals, the newest comes first, then the higher pid, so that the least work is lost. */
    private static final Comparator<GpuProcess> NEWEST_FIRST = Comparator.comparingLong(
                    (GpuProcess process) -> process.id().startTime())
            .thenComparingInt(GpuProcess::pid)
            .reversed();

    private final List<Load> loads = new ArrayList<>();
    private final Map<ProcessId, List<Load>> loadsOf = new HashMap<>();
    private final Map<ProcessId, GpuProcess> victims = new LinkedHashMap<>();
    private final Predicate<GpuProcess> overdue;

    /**
     * Chooses among the processes of the exceeded shares of one machine. Ending processes are treated as gone. Overdue ones, which did not exit
     * in time, are chosen before all others.
     */
    public MemoryVictims(List<MemoryShare> over, Predicate<GpuProcess> ending, Predicate<GpuProcess> overdue) {
        this.overdue = overdue;
        for (var share : over) {
            var staying = share.processes().stream().filter(ending.negate()).toList();
            var load = new Load(share, staying);
            loads.add(load);
            staying.forEach(process -> loadsOf.computeIfAbsent(process.id(), _ -> new ArrayList<>())
                    .add(load));
        }
    }

    public Set<ProcessId> choose() {
        loads.forEach(this::relieve);
        prune();
        return Set.copyOf(victims.keySet());
    }

    private void relieve(Load load) {
        relieve(load, overdue);
        relieve(load, overdue.negate());
    }

    /** Takes the smallest process that frees enough; if there is none, the largest one, and repeats. */
    private void relieve(Load load, Predicate<GpuProcess> candidates) {
        var bySize = new TreeMap<Memory, TreeSet<GpuProcess>>();
        for (var process : load.staying) {
            var size = load.share.known(process);
            if (candidates.test(process)
                    && process.immunity() == null
                    && size.compareTo(Memory.ZERO) > 0
                    && !victims.containsKey(process.id())) {
                bySize.computeIfAbsent(size, _ -> new TreeSet<>(NEWEST_FIRST)).add(process);
            }
        }
        while (load.isOver() && !bySize.isEmpty()) { // immune processes alone may exceed the capacity
            var size = bySize.ceilingKey(load.excessUpTo(bySize.lastKey()));
            var equals = bySize.getOrDefault(size, new TreeSet<>(NEWEST_FIRST));
            take(equals.removeFirst());
            if (equals.isEmpty()) {
                bySize.remove(size);
            }
        }
    }

    /** Removes each victim that a later one made unnecessary, in the order of choice. */
    private void prune() {
        for (var victim : List.copyOf(victims.values())) {
            giveBack(victim);
            if (loadsOf(victim).stream().anyMatch(Load::isOver)) {
                take(victim);
            }
        }
    }

    private void take(GpuProcess victim) {
        victims.put(victim.id(), victim);
        loadsOf(victim).forEach(load -> load.used = load.used.subtract(load.sizeOf(victim)));
    }

    private void giveBack(GpuProcess victim) {
        victims.remove(victim.id());
        loadsOf(victim).forEach(load -> load.used = load.used.add(load.sizeOf(victim)));
    }

    private List<Load> loadsOf(GpuProcess process) {
        return loadsOf.getOrDefault(process.id(), List.of());
    }

    /** The memory that the remaining processes use of a share. It may overflow a memory amount, because sums are also reduced. */
    private static final class Load {
        private final MemoryShare share;
        private final List<GpuProcess> staying;
        private BigInteger used = BigInteger.ZERO;

        Load(MemoryShare share, List<GpuProcess> staying) {
            this.share = share;
            this.staying = staying;
            staying.forEach(process -> used = used.add(sizeOf(process)));
        }

        BigInteger sizeOf(GpuProcess process) {
            return BigInteger.valueOf(share.known(process).bytes());
        }

        boolean isOver() {
            return excess().signum() > 0;
        }

        Memory excessUpTo(Memory most) {
            return new Memory(excess().min(BigInteger.valueOf(most.bytes())).longValueExact());
        }

        private BigInteger excess() {
            return used.subtract(BigInteger.valueOf(share.capacity().bytes()));
        }
    }

    /**
     * The memory that one user's processes use on one device in one environment with a memory capacity. Each user is checked
     * separately, so that a process that names another user's environment cannot cause the termination of that user's job. A
     * user's subordinate uids count as the user.
     *
     * @param uid the user of the processes; null if the uids are unknown
     */
    public record MemoryShare(
            String host,
            Environment environment,
            int device,
            @Nullable Long uid,
            Memory capacity,
            List<GpuProcess> processes) {
        private static final Comparator<@Nullable Long> UID = Comparator.nullsFirst(Comparator.naturalOrder());

        /** Returns the shares of all environments with a capacity on their attached devices, in a fixed order. */
        public static List<MemoryShare> of(Snapshot snapshot) {
            var shares = new ArrayList<MemoryShare>();
            var processes = snapshot.processesByEnvironment();
            for (var environment : snapshot.environments()) {
                var own = processes.getOrDefault(environment.eid(), List.of());
                environment.capacity().ifPresent(capacity -> {
                    if (!own.isEmpty()) {
                        snapshot.devices().stream()
                                .filter(device -> device.isAttachedTo(environment.eid()))
                                .forEach(device -> shares.addAll(of(snapshot, environment, device, capacity, own)));
                    }
                });
            }
            return shares;
        }

        private static List<MemoryShare> of(
                Snapshot snapshot,
                Environment environment,
                Device device,
                Memory capacity,
                List<GpuProcess> processes) {
            var byUser = new TreeMap<@Nullable Long, List<GpuProcess>>(UID);
            for (var process : processes) {
                if (process.uses(device.index())) {
                    var user = snapshot.userOf(process.uid(), environment);
                    byUser.computeIfAbsent(user, _ -> new ArrayList<>()).add(process);
                }
            }
            var shares = new ArrayList<MemoryShare>();
            byUser.forEach((uid, own) ->
                    shares.add(new MemoryShare(snapshot.host(), environment, device.index(), uid, capacity, own)));
            return shares;
        }

        /** Returns the used memory, as far as it is known. */
        public Memory used() {
            return processes.stream().map(this::known).reduce(Memory.ZERO, Memory::plus);
        }

        /** Returns the memory of a process; zero if the driver does not report it, so that no process is terminated for it. */
        public Memory known(GpuProcess process) {
            return Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO);
        }

        public boolean isExceeded() {
            return used().compareTo(capacity) > 0;
        }
    }
}
