package dev.genv.enforcer.model;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One observation of one machine. Its lists are sorted, so that decisions do not depend on the order of discovery.
 *
 * @param processes the processes that the GPU tool lists
 * @param unlisted the memory and the processes that it does not list
 * @param environments the active environments
 * @param devices the devices that {@code devices.json} describes, with the attachments of active environments
 * @param listedDevices the indices of the devices that the GPU tool lists
 * @param uidsOfPids the real uids of the live pids that the environments list or are named after, as far as they are known
 * @param missing the parts that could not be observed; a rule that needs one of them does not act here
 */
public record Snapshot(
        String host,
        List<GpuProcess> processes,
        Unlisted unlisted,
        List<Environment> environments,
        List<Device> devices,
        Set<Integer> listedDevices,
        Map<Integer, Long> uidsOfPids,
        SubordinateUids subordinateUids,
        Set<SnapshotPart> missing,
        List<Problem> problems) {

    /** Creates a snapshot in which everything is listed, without uids of listed pids and without subordinate uids. */
    public Snapshot(
            String host,
            List<GpuProcess> processes,
            List<Environment> environments,
            List<Device> devices,
            Set<Integer> listedDevices,
            Set<SnapshotPart> missing,
            List<Problem> problems) {
        this(
                host,
                processes,
                Unlisted.NONE,
                environments,
                devices,
                listedDevices,
                Map.of(),
                SubordinateUids.NONE,
                missing,
                problems);
    }

    public Snapshot {
        processes =
                processes.stream().sorted(Comparator.comparing(GpuProcess::id)).toList();
        environments = environments.stream()
                .sorted(Comparator.comparing(Environment::eid))
                .toList();
        devices =
                devices.stream().sorted(Comparator.comparingInt(Device::index)).toList();
        listedDevices = Set.copyOf(listedDevices);
        uidsOfPids = Map.copyOf(uidsOfPids);
        missing = missing.isEmpty() ? Set.of() : Set.copyOf(EnumSet.copyOf(missing));
        problems = List.copyOf(problems);
    }

    /** Creates the snapshot of a machine that could not be observed. */
    public static Snapshot unseen(String host, Problem why) {
        return new Snapshot(
                host, List.of(), List.of(), List.of(), Set.of(), EnumSet.allOf(SnapshotPart.class), List.of(why));
    }

    public Snapshot withProblems(List<Problem> more) {
        var all = new ArrayList<>(problems);
        all.addAll(more);
        return with(processes, unlisted, devices, all);
    }

    /** Returns all processes that hold a GPU, whether they are listed or not. */
    public List<GpuProcess> allProcesses() {
        return unlisted.holders().isEmpty()
                ? processes
                : Stream.concat(processes.stream(), unlisted.processes().stream())
                        .toList();
    }

    public Snapshot withProcesses(List<GpuProcess> others) {
        return with(others, unlisted, devices, problems);
    }

    public Snapshot with(Unlisted other) {
        return with(processes, other, devices, problems);
    }

    public Snapshot withDevices(List<Device> others) {
        return with(processes, unlisted, others, problems);
    }

    private Snapshot with(
            List<GpuProcess> otherProcesses,
            Unlisted otherUnlisted,
            List<Device> otherDevices,
            List<Problem> otherProblems) {
        return new Snapshot(
                host,
                otherProcesses,
                otherUnlisted,
                environments,
                otherDevices,
                listedDevices,
                uidsOfPids,
                subordinateUids,
                missing,
                otherProblems);
    }

    public boolean isComplete() {
        return missing.isEmpty();
    }

    public boolean has(SnapshotPart... parts) {
        return Set.of(parts).stream().noneMatch(missing::contains);
    }

    /**
     * Returns the user of a process in an environment. A uid that the environment records is a user of its own, also if it is in a
     * range of subordinate uids: uids of a directory service can overlap these ranges. Another subordinate uid is its account's.
     */
    public @Nullable Long userOf(@Nullable Long uid, Environment environment) {
        return uid != null && uid.equals(environment.uid()) ? uid : subordinateUids.ownerOf(uid);
    }

    public Map<String, Environment> environmentsById() {
        return environments.stream()
                .collect(Collectors.toMap(Environment::eid, environment -> environment, (first, second) -> first));
    }

    public Map<Integer, Device> devicesByIndex() {
        return devices.stream().collect(Collectors.toMap(Device::index, device -> device, (first, second) -> first));
    }

    /** Returns the processes that name an environment, by its id. */
    public Map<String, List<GpuProcess>> processesByEnvironment() {
        var byEnvironment = new HashMap<String, List<GpuProcess>>();
        for (var process : processes) {
            if (process.membership() instanceof Membership.InEnvironment(var eid)) {
                byEnvironment.computeIfAbsent(eid, _ -> new ArrayList<>()).add(process);
            }
        }
        return byEnvironment;
    }

    /**
     * Memory that is used on devices although no listed process explains it, and the processes that hold the files of these devices
     * without being listed. Such a process does not necessarily use the memory: a monitoring program holds the files too.
     *
     * @param memory what is not explained, by the index of the device
     * @param holders sorted by process
     * @param isComplete whether every process was examined that may be a holder
     */
    public record Unlisted(Map<Integer, Memory> memory, List<Holder> holders, boolean isComplete) {
        public static final Unlisted NONE = new Unlisted(Map.of(), List.of());

        /** Creates it for a search that examined every process. */
        public Unlisted(Map<Integer, Memory> memory, List<Holder> holders) {
            this(memory, holders, true);
        }

        public Unlisted {
            memory = Map.copyOf(memory);
            holders = holders.stream()
                    .sorted(Comparator.comparing(holder -> holder.process().id()))
                    .toList();
        }

        /**
         * A process that is not listed.
         *
         * @param process its usage names the devices with unexplained memory whose files it holds; its own memory is unknown
         * @param since when it was first found as a holder, in clock ticks since boot
         * @param used those of the devices that it proves to use: it maps their files, and no process that is listed there is its parent
         */
        public record Holder(GpuProcess process, long since, List<Integer> used) {}

        public List<GpuProcess> processes() {
            return holders.stream().map(Holder::process).toList();
        }
    }
}
