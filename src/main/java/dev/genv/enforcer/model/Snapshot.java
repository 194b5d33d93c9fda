package dev.genv.enforcer.model;

import dev.genv.enforcer.model.Device.DeviceStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One observation of one machine. Its lists are sorted, so that decisions do not depend on the order of discovery.
 *
 * @param processes the processes that the GPU tool lists
 * @param unexplained the memory that they do not explain
 * @param environments the active environments
 * @param devices the devices that {@code devices.json} describes or the GPU tool lists, with the attachments of active environments
 * @param listedDevices the indices of the devices that the GPU tool lists
 * @param missing the parts that could not be observed; a rule that needs one of them does not act here
 * @param problems why they could not, and what else is wrong
 * @param details what was observed of the host itself
 */
public record Snapshot(
        String host,
        List<GpuProcess> processes,
        Unexplained unexplained,
        List<Environment> environments,
        List<Device> devices,
        Set<Integer> listedDevices,
        Set<SnapshotPart> missing,
        List<Problem> problems,
        HostDetails details) {

    /** Creates a snapshot in which everything is listed. */
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
                Unexplained.NONE,
                environments,
                devices,
                listedDevices,
                missing,
                problems,
                HostDetails.NONE);
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
        missing = missing.isEmpty() ? Set.of() : Set.copyOf(EnumSet.copyOf(missing));
        problems = List.copyOf(problems);
    }

    /** Creates the snapshot of a host that could not be observed. */
    public static Snapshot unseen(String host, Problem why) {
        return new Snapshot(
                host, List.of(), List.of(), List.of(), Set.of(), EnumSet.allOf(SnapshotPart.class), List.of(why));
    }

    public Snapshot withProblems(List<Problem> others) {
        return with(unexplained, others, details);
    }

    public Snapshot with(Unexplained other) {
        return with(other, problems, details);
    }

    public Snapshot with(HostDetails other) {
        return with(unexplained, problems, other);
    }

    private Snapshot with(Unexplained otherUnexplained, List<Problem> otherProblems, HostDetails otherDetails) {
        return new Snapshot(
                host,
                processes,
                otherUnexplained,
                environments,
                devices,
                listedDevices,
                missing,
                otherProblems,
                otherDetails);
    }

    /** Whether the host answered. */
    public boolean isReached() {
        return details.answer().reached();
    }

    /** Whether its machine counts under another name, so that nothing was observed of this host. */
    public boolean isDuplicate() {
        return problems.stream().anyMatch(problem -> problem.code() == ProblemCode.DUPLICATE_HOST);
    }

    /** Returns a process that the GPU tool lists. */
    public Optional<GpuProcess> process(ProcessId id) {
        return processes.stream().filter(process -> process.id().equals(id)).findFirst();
    }

    /** Whether nothing is missing. */
    public boolean isComplete() {
        return missing.isEmpty();
    }

    /** Whether the host answered and nothing is missing. A host that does not answer misses nothing if its machine counts under another name. */
    public boolean isObservedCompletely() {
        return isReached() && isComplete();
    }

    public boolean has(SnapshotPart... parts) {
        return Set.of(parts).stream().noneMatch(missing::contains);
    }

    /** Whether a process of the real uid of an environment's owner, or of a subordinate one, uses a device. No other user can start one. */
    public boolean isUsedByOwner(Environment environment, int device) {
        var owner = environment.uid();
        return owner != null
                && owner != 0
                && processes.stream().anyMatch(process -> process.isProvenOf(owner) && process.uses(device));
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
            process.environmentId()
                    .ifPresent(eid -> byEnvironment
                            .computeIfAbsent(eid, _ -> new ArrayList<>())
                            .add(process));
        }
        return byEnvironment;
    }

    /**
     * Memory that is used on devices although no listed process explains it.
     *
     * @param memory the amount on each device on which it lasts, by the index of the device
     * @param suspected all devices on which memory is not explained: where it does not last yet, a process may be about to be listed
     * @param unknown the devices whose memory, or that of a process on them, the driver does not report
     */
    public record Unexplained(Map<Integer, Memory> memory, Set<Integer> suspected, Set<Integer> unknown) {
        public static final Unexplained NONE = new Unexplained(Map.of(), Set.of(), Set.of());

        public Unexplained {
            memory = Map.copyOf(memory);
            suspected = Set.copyOf(suspected);
            unknown = Set.copyOf(unknown);
        }
    }

    /**
     * What was observed of the host itself. Of it, rules use only the accounts.
     *
     * @param machine the identity of the machine and of its boot, which does not depend on its name; null if unknown
     * @param ticks when the state was read, in clock ticks since boot, like the start time of a process; 0 if it was not read
     * @param ended the verified processes that have certainly exited
     * @param missingPrivileges the privileges that the service lacks here, such as {@code SYS_PTRACE}; each is also a problem that says
     *     how to grant it
     * @param readOnlyReason why no action may be executed on this host; null if actions may be executed
     * @param accounts those that are known, by an earlier observation if the host does not answer; none if they could never be read
     * @param devices the status of each device, if nvidia-smi was asked for it and knows it
     */
    public record HostDetails(
            Answer answer,
            @Nullable String machine,
            long ticks,
            Set<ProcessId> ended,
            List<String> missingPrivileges,
            @Nullable String readOnlyReason,
            Accounts accounts,
            List<DeviceStatus> devices,
            Shown shown) {
        /** Nothing was observed. */
        public static final HostDetails NONE = of(Answer.NONE, null, 0);

        public HostDetails {
            ended = Set.copyOf(ended);
            missingPrivileges = List.copyOf(missingPrivileges);
            devices = List.copyOf(devices);
        }

        /**
         * How the host answered.
         *
         * @param reached whether it did
         * @param last when it last answered; null if it never did, or if that is not measured
         * @param duration how long the observation took, or the wait for it
         */
        public record Answer(boolean reached, @Nullable Instant last, Duration duration) {
            static final Answer NONE = new Answer(false, null, Duration.ZERO);
            /** It answered, and its time is not measured. */
            public static final Answer UNTIMED = new Answer(true, null, Duration.ZERO);
        }

        /**
         * What is only shown: no decision uses it.
         *
         * @param lockWait how long the observation waited for genv's lock; null if it did not, or if that is unknown
         * @param driver the version of the GPU driver; null if unknown
         * @param hasGenv whether genv has recorded something on the machine; null if unknown
         */
        public record Shown(
                @Nullable Duration lockWait,
                @Nullable String driver,
                @Nullable Boolean hasGenv) {
            public static final Shown NOTHING = new Shown(null, null, null);
        }

        private static HostDetails of(Answer answer, @Nullable String machine, long ticks) {
            return new HostDetails(
                    answer, machine, ticks, Set.of(), List.of(), null, Accounts.NONE, List.of(), Shown.NOTHING);
        }

        /** Creates those of a host that answered, of which only this is known. */
        public static HostDetails reached(@Nullable String machine, long ticks) {
            return of(Answer.UNTIMED, machine, ticks);
        }

        /** Returns the utilization of devices by their index, in percent, as far as it is known. */
        public Map<Integer, Integer> utilization() {
            var utilization = new HashMap<Integer, Integer>();
            for (var device : devices) {
                if (device.utilization() != null) {
                    utilization.put(device.index(), device.utilization());
                }
            }
            return utilization;
        }

        /** Creates those of a host that does not answer, whose accounts and groups stay as it last showed them. */
        public static HostDetails unseen(HostDetails last, Duration waited) {
            return new HostDetails(
                    new Answer(false, last.answer.last, waited),
                    null,
                    0,
                    Set.of(),
                    List.of(),
                    null,
                    last.accounts,
                    List.of(),
                    Shown.NOTHING);
        }

        /** Returns them with when the host answered last, and how long that took. */
        public HostDetails with(@Nullable Instant last, Duration duration) {
            return with(new Answer(answer.reached, last, duration), missingPrivileges);
        }

        public HostDetails withMissingPrivileges(List<String> others) {
            return with(answer, others);
        }

        private HostDetails with(Answer other, List<String> otherMissing) {
            return new HostDetails(
                    other, machine, ticks, ended, otherMissing, readOnlyReason, accounts, devices, shown);
        }
    }
}
