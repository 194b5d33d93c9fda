package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The devices that users hold on one machine. Only devices that the GPU tool lists count. */
final class Holdings {
    private final Snapshot snapshot;
    private final RuleCheck check;
    private final ConfirmedOwners owners;
    private final Map<String, Environment> environments;
    private final Map<String, List<GpuProcess>> processes;
    /** The processes that are not treated as gone. */
    private final List<GpuProcess> staying;

    Holdings(Snapshot snapshot, RuleCheck check, ConfirmedOwners owners) {
        this.snapshot = snapshot;
        this.check = check;
        this.owners = owners;
        environments = snapshot.environmentsById();
        processes = snapshot.processesByEnvironment();
        staying = snapshot.processes().stream().filter(this::isStaying).toList();
    }

    private boolean isStaying(GpuProcess process) {
        return !check.ending().isGone(new HostProcess(snapshot.host(), process.id()));
    }

    Map<String, List<Holding>> byUser() {
        var busy = busyDevices();
        var byUser = new TreeMap<String, List<Holding>>();
        for (var device : snapshot.devices()) {
            if (snapshot.listedDevices().contains(device.index())) {
                sharesByUser(device.attachments())
                        .forEach((user, shares) -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                .add(holding(device.index(), shares, busy.getOrDefault(user, Set.of()))));
            }
        }
        return byUser;
    }

    private Map<String, List<Holding.Share>> sharesByUser(List<Attachment> attachments) {
        var byUser = new TreeMap<String, List<Holding.Share>>();
        for (var attachment : attachments) {
            var environment = environments.get(attachment.eid());
            if (environment != null) {
                environment
                        .undisputedUser()
                        .ifPresent(user -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                .add(new Holding.Share(environment, attachment)));
            }
        }
        return byUser;
    }

    private Holding holding(int device, List<Holding.Share> shares, Set<Integer> busy) {
        var own = shares.stream()
                .map(share -> share.environment().eid())
                .distinct()
                .flatMap(eid -> processes.getOrDefault(eid, List.of()).stream())
                .filter(process -> process.uses(device))
                .toList();
        Holding.Use use;
        if (shares.stream().anyMatch(share -> isUsedByItsOwner(share.environment(), device))) {
            use = Holding.Use.PROVEN;
        } else {
            use = busy.contains(device) || mayBeBusy(device) ? Holding.Use.BUSY : Holding.Use.IDLE;
        }
        return new Holding(snapshot.host(), device, shares, own, use, since(device, shares));
    }

    /** A device that one of the attachments held in the first observation is not new; otherwise the oldest one counts. */
    private @Nullable Long since(int device, List<Holding.Share> shares) {
        var appearances = check.fleet().appearances();
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
    private boolean isUsedByItsOwner(Environment environment, int device) {
        return owners.isConfirmed(environment)
                && staying.stream()
                        .filter(process -> process.names(environment.eid())
                                || process.isExcusedOn(device)
                                || process.membership() instanceof Membership.Unknown)
                        .anyMatch(process ->
                                environment.uid() != null && process.isOf(environment.uid()) && process.uses(device));
    }

    /** Whether a process uses it whose environment is unknown: it may be one of the user's. */
    private boolean mayBeBusy(int device) {
        return staying.stream()
                .anyMatch(process -> process.membership() instanceof Membership.Unknown && process.uses(device));
    }

    /**
     * Returns the devices of the processes that name an environment of each user, and of those that it lists, as genv's SDK and Ray do. The uid
     * of a process does not matter, because a job in a container often runs under another uid than its user's.
     */
    private Map<String, Set<Integer>> busyDevices() {
        var byPid = staying.stream().collect(Collectors.groupingBy(GpuProcess::pid));
        var busy = new HashMap<String, Set<Integer>>();
        for (var environment : snapshot.environments()) {
            environment.undisputedUser().ifPresent(user -> {
                var naming = processes.getOrDefault(environment.eid(), List.of()).stream()
                        .filter(this::isStaying);
                var listed = environment.pids().stream().flatMap(pid -> byPid.getOrDefault(pid, List.of()).stream());
                var devices = busy.computeIfAbsent(user, _ -> new HashSet<>());
                Stream.concat(naming, listed).forEach(process -> devices.addAll(process.devices()));
            });
        }
        return busy;
    }

    /** Returns the environments that hold devices and count in no quota. */
    Stream<Environment> uncounted() {
        return snapshot.devices().stream()
                .filter(device -> snapshot.listedDevices().contains(device.index()))
                .flatMap(device -> device.attachments().stream())
                .flatMap(attachment -> Stream.ofNullable(environments.get(attachment.eid())))
                .filter(environment -> environment.user().isEmpty())
                .distinct();
    }

    /**
     * A device that a user holds through one or several environments; it counts once.
     *
     * @param shares the user's attachments of the device, with their environments
     * @param processes the processes of these environments on the device
     * @param use how the user's environments use the device
     * @param since a number that is larger if the user began to hold the device later; null if the first observation found it
     */
    record Holding(
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
        record Share(Environment environment, Attachment attachment) {}

        /** How a user's environments use a device. */
        enum Use {
            /** No process of any of the user's environments. */
            IDLE,
            /** A process that names one of the user's environments, or that one of them lists, or whose environment is unknown. */
            BUSY,
            /** A process that has the real uid of the user, and names an environment that holds the device, is excused there, or has an unknown environment. */
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
    static final class ConfirmedOwners {
        private final Map<String, Set<@Nullable Long>> uidsByUser = new HashMap<>();

        ConfirmedOwners(Fleet fleet) {
            fleet.snapshots().stream()
                    .flatMap(snapshot -> snapshot.environments().stream())
                    .forEach(environment -> environment
                            .undisputedUser()
                            .ifPresent(user -> uidsByUser
                                    .computeIfAbsent(user, _ -> new HashSet<>())
                                    .add(environment.uid())));
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
