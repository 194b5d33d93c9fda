package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts.Holder;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.UnlistedProcesses.UnexplainedMemory.Excess;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The processes that hold devices with unexplained memory without being listed. It keeps how long the memory is unexplained, and since
 * when each process was found. One thread at a time uses it.
 */
final class UnlistedProcesses {
    // kernel-open/nvidia/nv-procfs.c of NVIDIA's driver
    private static final Pattern UUID = Pattern.compile("(?m)^GPU UUID:\\s*(\\S+)\\s*$");
    private static final Pattern MINOR = Pattern.compile("(?m)^Device Minor:\\s*([0-9]{1,3})\\s*$");
    /** The largest number of processes that are reported as problems: users choose how many there are. */
    private static final int MOST_REPORTED = 100;

    private final UnexplainedMemory unexplained;
    private Map<ProcessId, Long> since = Map.of();
    /** The device files that each process mapped in the last observation, by their minor numbers. */
    private Map<ProcessId, Set<Integer>> mapped = Map.of();

    UnlistedProcesses(Memory tolerated) {
        unexplained = new UnexplainedMemory(tolerated);
    }

    /** Whether the next observation must read the used memory of the devices anew. */
    boolean needsDeviceMemory() {
        return unexplained.isSuspected();
    }

    /** Whether the next observation must look for processes that hold devices without being listed. */
    boolean needsDeviceHolders() {
        return unexplained.isLasting();
    }

    /** Interprets the facts. The function resolves a process that may use these devices. */
    Unlisted observe(
            HostFacts facts,
            GpuListing listing,
            int ownPid,
            BiFunction<ObservedProcess, List<DeviceUsage>, GpuProcess> resolver,
            Findings findings) {
        var wereSought = needsDeviceHolders();
        if (listing.missing().contains(SnapshotPart.EVERY_PROCESS)) {
            unexplained.forget();
        } else if (!listing.missing().contains(SnapshotPart.PROCESSES)) {
            unexplained.record(listing, facts.gpu().devicesAreCurrent());
        }
        var amounts = unexplained.lasting();
        var doubts = new Unlisted.Doubts(unexplained.devices(), UnexplainedMemory.unknown(listing));
        if (!wereSought || amounts.isEmpty() || listing.missing().contains(SnapshotPart.PROCESSES)) {
            since = Map.of();
            mapped = Map.of();
            return new Unlisted(Map.of(), doubts, List.of(), true);
        }
        var devices = devicesByMinor(facts.holders().gpus(), amounts);
        var unlisted = new Unlisted(
                amounts.values().stream().collect(Collectors.toMap(Excess::index, Excess::now, (first, _) -> first)),
                doubts,
                holders(facts, devices, listing, ownPid, resolver),
                facts.holders().incomplete().isEmpty());
        report(unlisted, amounts, Set.copyOf(devices.values()), facts.holders().incomplete(), findings);
        return unlisted;
    }

    private List<Unlisted.Holder> holders(
            HostFacts facts,
            Map<Integer, Integer> devices,
            GpuListing listing,
            int ownPid,
            BiFunction<ObservedProcess, List<DeviceUsage>, GpuProcess> resolver) {
        var found = new ArrayList<Unlisted.Holder>();
        var mappings = new HashMap<ProcessId, Set<Integer>>();
        var listedAt = facts.machine().beforeListing();
        var parents = parents(facts.holders().holders());
        for (var holder : facts.holders().holders()) {
            var held = holder.minors().stream().filter(devices::containsKey).collect(Collectors.toUnmodifiableSet());
            // A process that was started after the listing may be in the next one.
            if (!held.isEmpty()
                    && ProcessIdentity.of(holder.process()) instanceof ProcessIdentity.Present(var process)
                    && process.id().startTime() <= listedAt
                    && !listing.usage().containsKey(process.pid())
                    && process.pid() != ownPid) {
                var uses = held.stream()
                        .map(devices::get)
                        .map(device -> new DeviceUsage(device, null))
                        .toList();
                // A process that was just started may be listed in a moment, so it must have been found before.
                var earlier = mapped.getOrDefault(process.id(), Set.of());
                var now = holder.mapped().stream().filter(held::contains).collect(Collectors.toUnmodifiableSet());
                var used = now.stream()
                        .filter(earlier::contains)
                        .map(devices::get)
                        .filter(device -> !mayHaveInherited(process.pid(), device, parents, listing))
                        .sorted()
                        .toList();
                found.add(new Unlisted.Holder(
                        resolver.apply(process, uses), since.getOrDefault(process.id(), listedAt), used));
                mappings.put(process.id(), now);
            }
        }
        since = found.stream()
                .collect(Collectors.toMap(holder -> holder.process().id(), Unlisted.Holder::since, Math::min));
        mapped = Map.copyOf(mappings);
        return found;
    }

    /** Reports each process and device, and each device without such a process. */
    private static void report(
            Unlisted unlisted,
            Map<String, Excess> amounts,
            Set<Integer> withFile,
            String incomplete,
            Findings findings) {
        for (var amount : amounts.values()) {
            var memory = "%d MiB on device %d belong to no listed process"
                    .formatted(amount.first().mebibytes(), amount.index());
            var holders = unlisted.processes().stream()
                    .filter(process -> process.uses(amount.index()) && !process.isProtected())
                    .toList();
            holders.stream()
                    .limit(MOST_REPORTED)
                    .forEach(process -> findings.add(
                            ProblemCode.GPU_UNLISTED,
                            "process %d of uid %s (%s) holds device %d, but is not listed; %s"
                                    .formatted(
                                            process.pid(),
                                            process.uid() == null ? "unknown" : process.uid(),
                                            SafeText.escape(process.command()),
                                            amount.index(),
                                            memory)));
            if (holders.isEmpty()) {
                findings.add(
                        ProblemCode.GPU_UNLISTED,
                        "%s, and no process was found that holds it, except protected programs%s"
                                .formatted(memory, unexamined(withFile.contains(amount.index()), incomplete)));
            }
        }
    }

    private static String unexamined(boolean hasFile, String incomplete) {
        if (!incomplete.isEmpty()) {
            return "; not every process was examined: " + incomplete;
        }
        return hasFile ? "" : "; the driver does not say which device file it has";
    }

    /** Returns the indices of these devices by the minor numbers of their files. */
    private static Map<Integer, Integer> devicesByMinor(List<Bytes> gpus, Map<String, Excess> amounts) {
        var devices = new HashMap<Integer, Integer>();
        for (var gpu : gpus) {
            var text = gpu.text();
            var uuid = UUID.matcher(text);
            var minor = MINOR.matcher(text);
            if (uuid.find() && minor.find() && Integer.parseInt(minor.group(1)) < HolderFacts.FIRST_SHARED_MINOR) {
                Optional.ofNullable(amounts.get(uuid.group(1)))
                        .ifPresent(amount -> devices.put(Integer.valueOf(minor.group(1)), amount.index()));
            }
        }
        return devices;
    }

    /** Returns the pid of the parent of each holder, by the pid of the holder; without those whose parent is unknown. */
    private static Map<Integer, Integer> parents(Collection<Holder> holders) {
        var parents = new HashMap<Integer, Integer>();
        for (var holder : holders) {
            if (ProcessIdentity.of(holder.process()) instanceof ProcessIdentity.Present(var process)
                    && process.relations() != null) {
                parents.put(process.pid(), process.relations().parent());
            }
        }
        return parents;
    }

    /**
     * Whether the parent of a holder is listed on a device, or is a holder of which that is true. So it is if the parent is unknown. The workers
     * of a listed process may have inherited what they map, as after a fork without an execve(2).
     */
    private static boolean mayHaveInherited(int pid, int device, Map<Integer, Integer> parents, GpuListing listing) {
        var visited = new HashSet<Integer>();
        var parent = parents.get(pid);
        if (parent == null) {
            return true;
        }
        while (parent != null && visited.add(parent)) {
            if (listing.usage().getOrDefault(parent, List.of()).stream().anyMatch(use -> use.device() == device)) {
                return true;
            }
            parent = parents.get(parent);
        }
        return false;
    }

    /**
     * Counts for each device in how many observations in a row more memory was used than its listed processes explain. A single observation
     * proves nothing, because the processes and the memory are read one after the other.
     */
    static final class UnexplainedMemory {
        private static final int LASTING = 3;

        private final Memory tolerated;
        private final Map<String, Excess> excesses = new HashMap<>();

        /**
         * What is not explained on a device.
         *
         * @param observations how many in a row
         * @param first the amount when it began to last, which does not change with every observation
         */
        record Excess(int index, int observations, Memory now, Memory first) {
            private boolean isLasting() {
                return observations >= LASTING;
            }
        }

        /** @param tolerated what the driver itself uses, and what it rounds */
        UnexplainedMemory(Memory tolerated) {
            this.tolerated = tolerated;
        }

        /**
         * Records a complete list of devices and processes.
         *
         * @param isCurrent whether the used memory is as recent as the processes; otherwise nothing changes
         */
        void record(GpuListing listing, boolean isCurrent) {
            if (!isCurrent) {
                return;
            }
            var before = Map.copyOf(excesses);
            excesses.clear();
            for (var device : listing.memory()) {
                var last = before.get(device.uuid());
                rest(device, listing)
                        .filter(rest -> rest.compareTo(tolerated) > 0)
                        .ifPresent(now -> excesses.put(
                                device.uuid(),
                                new Excess(
                                        device.index(),
                                        last == null ? 1 : last.observations + 1,
                                        now,
                                        last != null && last.isLasting() ? last.first : now)));
            }
        }

        /** Forgets all devices, because a process that is not in the list may explain the memory of any. */
        void forget() {
            excesses.clear();
        }

        boolean isSuspected() {
            return !excesses.isEmpty();
        }

        boolean isLasting() {
            return excesses.values().stream().anyMatch(Excess::isLasting);
        }

        /** Returns the devices on which memory is not explained, by their UUID. */
        Map<String, Excess> lasting() {
            var lasting = new TreeMap<>(excesses);
            lasting.values().removeIf(excess -> !excess.isLasting());
            return lasting;
        }

        /** Returns the indices of the devices on which memory is not explained. */
        Set<Integer> devices() {
            return excesses.values().stream().map(Excess::index).collect(Collectors.toUnmodifiableSet());
        }

        /** Returns the indices of the devices of which this is unknown. */
        static Set<Integer> unknown(GpuListing listing) {
            return listing.memory().stream()
                    .filter(device -> rest(device, listing).isEmpty())
                    .map(GpuListing.DeviceMemory::index)
                    .collect(Collectors.toUnmodifiableSet());
        }

        /**
         * Returns the memory of a device that its listed processes do not explain. Empty if it is unknown: also if the memory of one of the
         * processes is, because that may be all of it.
         */
        private static Optional<Memory> rest(GpuListing.DeviceMemory device, GpuListing listing) {
            var uses = listing.usage().values().stream()
                    .flatMap(List::stream)
                    .filter(use -> use.device() == device.index())
                    .toList();
            if (device.used() == null || uses.stream().anyMatch(use -> use.memory() == null)) {
                return Optional.empty();
            }
            var explained = uses.stream()
                    .flatMap(use -> Stream.ofNullable(use.memory()))
                    .reduce(Memory.ZERO, Memory::plus);
            return Optional.of(device.used().minus(explained));
        }
    }
}
