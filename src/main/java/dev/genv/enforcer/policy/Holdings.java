package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Match;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The devices that users hold on one machine. Only devices that the GPU tool lists count. */
final class Holdings {
    private final Snapshot snapshot;
    private final RuleCheck check;
    private final Map<String, Set<RecordedUid>> uids;
    private final Map<String, Environment> environments;
    private final Map<String, List<GpuProcess>> processes;
    /** The processes that are not treated as gone. */
    private final List<GpuProcess> staying;

    /** @param uids the uids that environments of each user record */
    Holdings(Snapshot snapshot, RuleCheck check, Map<String, Set<RecordedUid>> uids) {
        this.snapshot = snapshot;
        this.check = check;
        this.uids = uids;
        environments = snapshot.environmentsById();
        processes = snapshot.processesByEnvironment();
        staying = snapshot.processes().stream().filter(this::isStaying).toList();
    }

    private boolean isStaying(GpuProcess process) {
        return !check.ending().isGone(new HostProcess(snapshot.host(), process.id()));
    }

    Map<String, List<Holding>> byUser() {
        var byUser = new TreeMap<String, List<Holding>>();
        for (var device : snapshot.devices()) {
            if (snapshot.listedDevices().contains(device.index())) {
                sharesByUser(device.attachments())
                        .forEach((user, shares) -> byUser.computeIfAbsent(user, _ -> new ArrayList<>())
                                .add(holding(device.index(), shares)));
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

    private Holding holding(int device, List<Holding.Share> shares) {
        var own = shares.stream()
                .map(share -> share.environment().eid())
                .distinct()
                .flatMap(eid -> processes.getOrDefault(eid, List.of()).stream())
                .filter(process -> process.uses(device) && !process.isExcusedOn(device))
                .toList();
        // A process that names none of the environments, and is not excused there, is no use of them: another user may
        // have forged them.
        var using = staying.stream()
                .filter(process -> process.uses(device)
                        && (own.contains(process)
                                || process.isExcusedOn(device)
                                || process.membership() instanceof Membership.Unknown))
                .toList();
        var isOwn = using.stream()
                .anyMatch(process -> shares.stream().anyMatch(share -> isOfUser(process, share.environment())));
        return new Holding(snapshot.host(), device, shares, own, isOwn, !using.isEmpty(), since(device, shares));
    }

    /** Whether the kernel proves that a process is the user's. In a container of root a uid can be anybody's. */
    private boolean isOfUser(GpuProcess process, Environment environment) {
        var uid = environment.uid();
        return uid != null && isConfirmed(environment) && process.isProvenOf(uid);
    }

    /**
     * Whether the recorded uid is the user's: an account of the machine confirms it, or the environment counts by it, or all undisputed
     * environments of the user on all machines record it. A user can write another user's name and their own uid on a machine that has no
     * account of that name.
     */
    private boolean isConfirmed(Environment environment) {
        var name = environment.username();
        return environment.ownership().isAccount()
                || name == null
                || name.isEmpty()
                || uids.getOrDefault(name, Set.of()).stream()
                                .map(RecordedUid::uid)
                                .distinct()
                                .count()
                        == 1;
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
     * @param isOwn whether a process of the user's own real uid is one of those
     * @param isUsed whether a process runs there that names one of the environments, is excused there, or has an unknown membership
     * @param since a number that is larger if the user began to hold the device later; null if the first observation found it
     */
    record Holding(
            String host,
            int device,
            List<Share> shares,
            List<GpuProcess> processes,
            boolean isOwn,
            boolean isUsed,
            @Nullable Long since) {
        /**
         * Orders holdings by the harm of losing them. A device that no process of the user's own uid uses may be a forged entry in the user's
         * name; among equals, the latest comes first. Of those that the first observation found, idle ones do.
         */
        static final Comparator<Holding> LEAST_HARM = Comparator.comparing(Holding::isOwn)
                .thenComparing(Holding::order, Comparator.reverseOrder())
                .thenComparing(Holding::isUsed)
                .thenComparing(Holding::attachedAt, Comparator.reverseOrder())
                .thenComparing(Holding::host)
                .thenComparing(Comparator.comparingInt(Holding::device).reversed());

        /** The attachment of one environment. */
        record Share(Environment environment, Attachment attachment) {}

        /** Whether only the state, which every user can write, shows its age and whose use it is. */
        boolean isUnproven() {
            return isUsed && !isOwn && since == null;
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

    /** A uid that environments of a user record, or that processes have, and the accounts of their machine. */
    record RecordedUid(@Nullable Long uid, Accounts accounts) {
        /** Whether a user with these uids is in a group. */
        static Match isInGroup(String group, String user, Set<RecordedUid> uids, Fleet fleet) {
            return fleet.isInGroup(group, user, uids.stream().map(one -> one.accounts.isIn(group, user, one.uid)));
        }

        /** Returns those of each user. All environments count, so that a detachment changes no limit. */
        static Map<String, Set<RecordedUid>> byUser(Fleet fleet) {
            var byUser = new HashMap<String, Set<RecordedUid>>();
            for (var host : fleet.snapshots()) {
                for (var environment : host.environments()) {
                    environment
                            .undisputedUser()
                            .ifPresent(user -> byUser.computeIfAbsent(user, _ -> new HashSet<>())
                                    .add(new RecordedUid(
                                            environment.uid(), host.details().accounts())));
                }
            }
            return byUser;
        }
    }
}
