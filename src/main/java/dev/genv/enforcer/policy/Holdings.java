package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan.HostProblem;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The devices that users hold on one machine. Only devices that the GPU tool lists count. */
public final class Holdings {
    private final Snapshot snapshot;
    private final Predicate<GpuProcess> ending;
    private final Appearances appearances;
    private final ConfirmedOwners owners;
    private final Map<String, Environment> environments;
    private final Map<String, List<GpuProcess>> processes;

    /** Finds the holdings on one machine, where the ending processes are treated as gone. */
    public Holdings(Snapshot snapshot, Predicate<GpuProcess> ending, Appearances appearances, ConfirmedOwners owners) {
        this.snapshot = snapshot;
        this.ending = ending;
        this.appearances = appearances;
        this.owners = owners;
        this.environments = snapshot.environmentsById();
        this.processes = snapshot.processesByEnvironment();
    }

    public Map<String, List<Holding>> byUser() {
        var busy = busyDevices();
        var byUser = new TreeMap<String, List<Holding>>();
        for (var device : listed()) {
            sharesByUser(device)
                    .forEach((user, shares) -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                            .add(holding(
                                    device.index(),
                                    shares,
                                    busy.getOrDefault(user, Set.of()).contains(device.index()))));
        }
        return byUser;
    }

    private Holding holding(int device, List<Holding.Share> shares, boolean isBusy) {
        var processes = processesOf(shares, device);
        Holding.Use use;
        if (shares.stream().anyMatch(share -> isUsedByItsOwner(share, device))) {
            use = Holding.Use.PROVEN;
        } else {
            use = isBusy || mayBeBusy(device) ? Holding.Use.BUSY : Holding.Use.IDLE;
        }
        return new Holding(snapshot.host(), device, shares, processes, use, since(device, shares));
    }

    /** A device that one of the attachments held in the first observation is not new; otherwise the oldest one counts. */
    private @Nullable Long since(int device, List<Holding.Share> shares) {
        Long oldest = null;
        for (var share : shares) {
            var since = appearances.of(snapshot.host(), share.environment().eid(), device);
            if (since == null) {
                return null;
            }
            oldest = oldest == null || since < oldest ? since : oldest;
        }
        return oldest;
    }

    /**
     * Whether the kernel proves that the user runs a process there: no other user can start a process with this uid. It proves nothing
     * if the uid may be another user's.
     */
    private boolean isUsedByItsOwner(Holding.Share share, int device) {
        return owners.isConfirmed(share.environment())
                && snapshot.processes().stream()
                        .filter(process -> process.names(share.environment().eid())
                                || process.membership() instanceof Membership.Unknown)
                        .anyMatch(process -> process.uid() != null
                                && Objects.equals(
                                        snapshot.userOf(process.uid(), share.environment()),
                                        share.environment().uid())
                                && process.uses(device)
                                && !ending.test(process));
    }

    /** Whether a process uses it whose environment is unknown: it may be one of the user's. */
    private boolean mayBeBusy(int device) {
        return snapshot.processes().stream()
                .anyMatch(process -> process.membership() instanceof Membership.Unknown
                        && process.uses(device)
                        && !ending.test(process));
    }

    /** Returns a problem for each environment that counts in no quota. */
    public List<HostProblem> problems() {
        return listed().stream()
                .flatMap(device -> device.attachments().stream())
                .map(attachment -> environments.get(attachment.eid()))
                .filter(environment -> environment != null && environment.user().isEmpty())
                .distinct()
                .map(environment -> new HostProblem(
                        snapshot.host(),
                        ProblemCode.ENVIRONMENT_USER_UNKNOWN,
                        "Environment %s has neither a user name nor a uid other than 0: it counts in no quota"
                                .formatted(SafeText.escape(environment.eid()))))
                .toList();
    }

    private List<Device> listed() {
        return snapshot.devices().stream()
                .filter(device -> snapshot.listedDevices().contains(device.index()))
                .toList();
    }

    private SortedMap<String, List<Holding.Share>> sharesByUser(Device device) {
        var byUser = new TreeMap<String, List<Holding.Share>>();
        for (var attachment : device.attachments()) {
            var environment = environments.get(attachment.eid());
            if (environment != null) {
                environment
                        .user()
                        .filter(_ -> !environment.ownership().isDisputed())
                        .ifPresent(user -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                .add(new Holding.Share(environment, attachment)));
            }
        }
        return byUser;
    }

    private List<GpuProcess> processesOf(List<Holding.Share> shares, int device) {
        return shares.stream()
                .map(share -> share.environment().eid())
                .distinct()
                .flatMap(eid -> processes.getOrDefault(eid, List.of()).stream())
                .filter(process -> process.uses(device))
                .toList();
    }

    /**
     * Returns the devices that each user's environments use. The uid of a process does not matter, because a job in a container often
     * runs under another uid than its user's.
     */
    private Map<String, Set<Integer>> busyDevices() {
        var byPid = snapshot.processes().stream().collect(Collectors.groupingBy(GpuProcess::pid));
        return snapshot.environments().stream()
                .filter(environment -> environment.user().isPresent()
                        && !environment.ownership().isDisputed())
                .collect(Collectors.toMap(
                        environment -> environment.user().orElseThrow(),
                        environment -> busyDevices(environment, byPid),
                        (some, more) -> {
                            some.addAll(more);
                            return some;
                        }));
    }

    /** Returns the devices of the processes that name the environment, and of those that it lists, as genv's SDK and Ray do. */
    private Set<Integer> busyDevices(Environment environment, Map<Integer, List<GpuProcess>> byPid) {
        var naming = processes.getOrDefault(environment.eid(), List.of()).stream();
        var listed = environment.pids().stream().flatMap(pid -> byPid.getOrDefault(pid, List.of()).stream());
        return Stream.concat(naming, listed)
                .filter(process -> !ending.test(process))
                .flatMap(process -> process.devices().stream())
                .collect(Collectors.toCollection(HashSet::new));
    }

    /**
     * A device that a user holds through one or several environments; it counts once.
     *
     * @param shares the user's attachments of the device, with their environments
     * @param processes the processes of these environments on the device
     * @param use how the user's environments use the device
     * @param since a number that is larger if the user began to hold the device later; null if the first observation found it
     */
    public record Holding(
            String host,
            int device,
            List<Share> shares,
            List<GpuProcess> processes,
            Use use,
            @Nullable Long since) {
        /**
         * Orders holdings by the harm of losing them. A device that no process of the user's own uid uses may be a forged entry in the user's
         * name; among equals, the latest comes first, and then one that is idle.
         */
        static final Comparator<Holding> LEAST_HARM = Comparator.comparing(
                        (Holding holding) -> holding.use == Use.PROVEN)
                .thenComparing(Holding::order, Comparator.reverseOrder())
                .thenComparing(Holding::use)
                .thenComparing(Holding::attachedAt, Comparator.reverseOrder())
                .thenComparing(Holding::host)
                .thenComparing(Comparator.comparingInt(Holding::device).reversed());

        /** The attachment of one environment. */
        public record Share(Environment environment, Attachment attachment) {}

        /** How a user's environments use a device. */
        enum Use {
            /** No process of any of the user's environments. */
            IDLE,
            /**
             * A process that names one of the user's environments, or that one of them lists, or whose environment is unknown.
             */
            BUSY,
            /** A process that has the real uid of the user, and names an environment that holds the device, or whose environment is unknown. */
            PROVEN
        }

        /** Whether only the state, which every user can write, shows its age and its use. */
        boolean isUnproven() {
            return use == Use.BUSY && since == null;
        }

        /** An attachment that the first observation found is older than all others. */
        private long order() {
            return since == null ? Long.MIN_VALUE : since;
        }

        private LocalDateTime attachedAt() {
            return shares.stream()
                    .map(share -> share.attachment().attachedAt())
                    .max(Comparator.naturalOrder())
                    .orElse(LocalDateTime.MIN);
        }
    }

    /**
     * Whether the recorded uids of environments are their users'. A user can write another user's name and their own uid on a
     * machine that has no account of that name.
     */
    public static final class ConfirmedOwners {
        private final Map<String, Set<@Nullable Long>> uidsByUser = new HashMap<>();

        public ConfirmedOwners(Fleet fleet) {
            for (var snapshot : fleet.snapshots()) {
                for (var environment : snapshot.environments()) {
                    if (!environment.ownership().isDisputed()) {
                        environment
                                .user()
                                .ifPresent(user -> uidsByUser
                                        .computeIfAbsent(user, _ -> new HashSet<>())
                                        .add(environment.uid()));
                    }
                }
            }
        }

        /**
         * Whether an account of the machine confirms the uid, or the environment counts by its uid, or all undisputed
         * environments of the user on all machines record this uid.
         */
        boolean isConfirmed(Environment environment) {
            var name = environment.username();
            return environment.ownership().isAccount()
                    || name == null
                    || name.isEmpty()
                    || uidsByUser.getOrDefault(name, Set.of()).size() == 1;
        }
    }
}
