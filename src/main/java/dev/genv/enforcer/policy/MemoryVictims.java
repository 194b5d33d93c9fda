package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the processes to terminate if more memory is used than allowed: as few and as small as possible, and always the same ones. Sums
 * are updated and not recomputed, because users choose the number of processes.
 */
public final class MemoryVictims {
    /** Among equals, the newest comes first, then the higher pid, so that the least work is lost. */
    private static final Comparator<MemoryUse> NEWEST_FIRST = Comparator.comparingLong(
                    (MemoryUse use) -> use.process().id().startTime())
            .thenComparingInt(use -> use.process().pid())
            .reversed()
            .thenComparing(MemoryUse::host);

    private final List<Load> loads = new ArrayList<>();
    /** What each process uses in each load. */
    private final Map<HostProcess, Map<Load, BigInteger>> sizes = new HashMap<>();

    private final Set<HostProcess> victims = new LinkedHashSet<>();
    private final ExpectedExits exits;

    /**
     * Chooses among the processes that use more memory than allowed. Processes that are expected to exit are treated as gone; overdue ones,
     * which did not exit in time, are not, and are chosen before all others.
     */
    MemoryVictims(ExpectedExits exits) {
        this.exits = exits;
    }

    /** Adds processes that together use more memory than allowed. */
    void add(Memory allowed, List<MemoryUse> uses) {
        var staying = uses.stream()
                .filter(use -> exits.isOverdue(use.target()) || !exits.isGone(use.target()))
                .toList();
        var load = new Load(staying);
        load.excess = BigInteger.valueOf(-allowed.bytes());
        loads.add(load);
        for (var use : staying) {
            var size = BigInteger.valueOf(use.memory().bytes());
            load.excess = load.excess.add(size);
            sizes.computeIfAbsent(use.target(), _ -> new HashMap<>()).put(load, size);
        }
    }

    Set<HostProcess> choose() {
        for (var load : loads) {
            relieve(load, use -> exits.isOverdue(use.target()));
            relieve(load, _ -> true);
        }
        // Without each victim that a later one made unnecessary, in the order of choice.
        for (var victim : List.copyOf(victims)) {
            giveBack(victim);
            if (sizesOf(victim).keySet().stream().anyMatch(Load::isOver)) {
                take(victim);
            }
        }
        return Set.copyOf(victims);
    }

    /**
     * Returns the terminations of the chosen ones among these. A process that another rule terminates also frees memory here, so its action
     * names both rules.
     */
    static List<Action> terminations(List<MemoryUse> uses, Set<HostProcess> chosen, ExpectedExits exits) {
        return uses.stream()
                .filter(use -> chosen.contains(use.target())
                        || (exits.terminated().contains(use.target()) && use.isPositive()))
                .<Action>map(use -> new Action.Terminate(use.host(), use.process()))
                .toList();
    }

    /** Takes the smallest process that frees enough; if there is none, the largest one, and repeats. */
    private void relieve(Load load, Predicate<MemoryUse> candidates) {
        var bySize = new TreeMap<Memory, TreeSet<MemoryUse>>();
        for (var use : load.staying) {
            if (candidates.test(use) && use.isEndable() && use.isPositive() && !victims.contains(use.target())) {
                bySize.computeIfAbsent(use.memory(), _ -> new TreeSet<>(NEWEST_FIRST))
                        .add(use);
            }
        }
        while (load.isOver() && !bySize.isEmpty()) { // immune processes alone may exceed the capacity
            var size = bySize.ceilingKey(load.excessUpTo(bySize.lastKey()));
            var equals = bySize.getOrDefault(size, new TreeSet<>(NEWEST_FIRST));
            take(equals.removeFirst().target());
            if (equals.isEmpty()) {
                bySize.remove(size);
            }
        }
    }

    private void take(HostProcess victim) {
        victims.add(victim);
        sizesOf(victim).forEach((load, size) -> load.excess = load.excess.subtract(size));
    }

    private void giveBack(HostProcess victim) {
        victims.remove(victim);
        sizesOf(victim).forEach((load, size) -> load.excess = load.excess.add(size));
    }

    private Map<Load, BigInteger> sizesOf(HostProcess process) {
        return sizes.getOrDefault(process, Map.of());
    }

    /** The memory that a process uses, as far as it counts; zero if it is unknown, so that no process is terminated for it. */
    public record MemoryUse(String host, GpuProcess process, Memory memory) {
        HostProcess target() {
            return new HostProcess(host, process.id());
        }

        private boolean isEndable() {
            return process.immunity() == null;
        }

        private boolean isPositive() {
            return memory.compareTo(Memory.ZERO) > 0;
        }

        static Memory sum(List<MemoryUse> uses) {
            return uses.stream().map(MemoryUse::memory).reduce(Memory.ZERO, Memory::plus);
        }
    }

    /** Processes, and what those that remain use above what is allowed. It may overflow a memory amount, because it is also reduced. */
    private static final class Load {
        private final List<MemoryUse> staying;
        private BigInteger excess = BigInteger.ZERO;

        Load(List<MemoryUse> staying) {
            this.staying = staying;
        }

        boolean isOver() {
            return excess.signum() > 0;
        }

        Memory excessUpTo(Memory most) {
            return new Memory(excess.min(BigInteger.valueOf(most.bytes())).longValueExact());
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
            Environment environment, int device, @Nullable Long uid, Memory capacity, List<MemoryUse> uses) {
        private static final Comparator<@Nullable Long> UID = Comparator.nullsFirst(Comparator.naturalOrder());

        /** Returns the shares of all environments with a capacity on their attached devices, in a fixed order. */
        public static List<MemoryShare> of(Snapshot snapshot) {
            var shares = new ArrayList<MemoryShare>();
            var processes = snapshot.processesByEnvironment();
            for (var environment : snapshot.environments()) {
                var own = processes.getOrDefault(environment.eid(), List.of());
                environment
                        .capacity()
                        .filter(_ -> !own.isEmpty())
                        .ifPresent(capacity -> snapshot.devices().stream()
                                .filter(device -> device.isAttachedTo(environment.eid()))
                                .forEach(device -> byUser(snapshot, device.index(), own)
                                        .forEach((uid, uses) -> shares.add(
                                                new MemoryShare(environment, device.index(), uid, capacity, uses)))));
            }
            return shares;
        }

        private static Map<@Nullable Long, List<MemoryUse>> byUser(
                Snapshot snapshot, int device, List<GpuProcess> processes) {
            var byUser = new TreeMap<@Nullable Long, List<MemoryUse>>(UID);
            for (var process : processes) {
                var isKnown =
                        process.uid() == null || process.owner() != null; // a plan for a client knows no uids at all
                // An excused process may be of another environment.
                if (process.uses(device)
                        && !process.isExcusedOn(device)
                        && isKnown
                        && process.isOfOtherAllocator() == Ternary.NO) {
                    var memory = Objects.requireNonNullElse(process.memoryOn(device), Memory.ZERO);
                    byUser.computeIfAbsent(process.owner(), _ -> new ArrayList<>())
                            .add(new MemoryUse(snapshot.host(), process, memory));
                }
            }
            return byUser;
        }

        public boolean isExceeded() {
            return MemoryUse.sum(uses).compareTo(capacity) > 0;
        }
    }
}
