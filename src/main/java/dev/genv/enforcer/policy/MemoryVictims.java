package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
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
    private final Map<HostProcess, List<Load>> loadsOf = new HashMap<>();
    private final Map<HostProcess, MemoryUse> victims = new LinkedHashMap<>();
    private final ExpectedExits exits;

    /**
     * Chooses among the processes that use more memory than allowed. Processes that are expected to exit are treated as gone; overdue ones,
     * which did not exit in time, are not, and are chosen before all others.
     */
    public MemoryVictims(ExpectedExits exits) {
        this.exits = exits;
    }

    /** Adds processes that together use more memory than allowed. */
    public void add(Memory allowed, List<MemoryUse> uses) {
        var staying = uses.stream()
                .filter(use -> isOverdue(use) || !exits.on(use.host()).test(use.process()))
                .toList();
        var load = new Load(allowed, staying);
        loads.add(load);
        staying.forEach(use ->
                loadsOf.computeIfAbsent(use.target(), _ -> new ArrayList<>()).add(load));
    }

    private boolean isOverdue(MemoryUse use) {
        return exits.overdueOn(use.host()).test(use.process());
    }

    public Set<HostProcess> choose() {
        loads.forEach(this::relieve);
        prune();
        return Set.copyOf(victims.keySet());
    }

    private void relieve(Load load) {
        relieve(load, this::isOverdue);
        relieve(load, use -> !isOverdue(use));
    }

    /** Takes the smallest process that frees enough; if there is none, the largest one, and repeats. */
    private void relieve(Load load, Predicate<MemoryUse> candidates) {
        var bySize = new TreeMap<Memory, TreeSet<MemoryUse>>();
        for (var use : load.staying) {
            if (candidates.test(use)
                    && use.isEndable()
                    && use.memory().compareTo(Memory.ZERO) > 0
                    && !victims.containsKey(use.target())) {
                bySize.computeIfAbsent(use.memory(), _ -> new TreeSet<>(NEWEST_FIRST))
                        .add(use);
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

    private void take(MemoryUse victim) {
        victims.put(victim.target(), victim);
        loadsOf(victim).forEach(load -> load.used = load.used.subtract(load.sizeOf(victim)));
    }

    private void giveBack(MemoryUse victim) {
        victims.remove(victim.target());
        loadsOf(victim).forEach(load -> load.used = load.used.add(load.sizeOf(victim)));
    }

    private List<Load> loadsOf(MemoryUse use) {
        return loadsOf.getOrDefault(use.target(), List.of());
    }

    /** The memory that a process uses, as far as it counts; zero if it is unknown, so that no process is terminated for it. */
    public record MemoryUse(String host, GpuProcess process, Memory memory) {
        HostProcess target() {
            return new HostProcess(host, process.id());
        }

        /** A process of which the environment cannot be read may be one that no rule should terminate. */
        private boolean isEndable() {
            return process.immunity() == null && !(process.membership() instanceof Membership.Unknown);
        }
    }

    /** The memory that the remaining processes use. It may overflow a memory amount, because sums are also reduced. */
    private static final class Load {
        private final Memory allowed;
        private final List<MemoryUse> staying;
        private final Map<HostProcess, Memory> sizes = new HashMap<>();
        private BigInteger used = BigInteger.ZERO;

        Load(Memory allowed, List<MemoryUse> staying) {
            this.allowed = allowed;
            this.staying = staying;
            staying.forEach(use -> sizes.put(use.target(), use.memory()));
            staying.forEach(use -> used = used.add(sizeOf(use)));
        }

        /** A process uses different amounts of memory in different loads. */
        BigInteger sizeOf(MemoryUse use) {
            return BigInteger.valueOf(
                    sizes.getOrDefault(use.target(), Memory.ZERO).bytes());
        }

        boolean isOver() {
            return excess().signum() > 0;
        }

        Memory excessUpTo(Memory most) {
            return new Memory(excess().min(BigInteger.valueOf(most.bytes())).longValueExact());
        }

        private BigInteger excess() {
            return used.subtract(BigInteger.valueOf(allowed.bytes()));
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

        List<MemoryUse> uses() {
            return processes.stream()
                    .map(process -> new MemoryUse(host, process, known(process)))
                    .toList();
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
