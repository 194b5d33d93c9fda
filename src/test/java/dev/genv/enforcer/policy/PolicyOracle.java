package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import java.math.BigInteger;
import java.time.LocalDateTime;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Who breaks the rules: slow, simple, and written from the rules' words, not from their code. */
record PolicyOracle(Fleet fleet, Limits limits) {

    /** A device of a machine. */
    record Slot(String host, int device) {}

    /** The fleet once these processes are gone and these attachments are taken away. */
    PolicyOracle after(Collection<HostProcess> ended, Collection<Action.Detach> detached) {
        var snapshots = fleet.snapshots().stream()
                .map(before -> new Snapshot(
                        before.host(),
                        before.processes().stream()
                                .filter(process -> !ended.contains(new HostProcess(before.host(), process.id())))
                                .toList(),
                        before.environments(),
                        before.devices().stream()
                                .map(device -> without(detached, before.host(), device))
                                .toList(),
                        before.listedDevices(),
                        before.missing(),
                        before.problems()))
                .toList();
        return new PolicyOracle(new Fleet(snapshots, fleet.remote()), limits);
    }

    boolean isBroken(RuleDefinition rule) {
        return rule == RuleDefinition.MAX_DEVICES_PER_USER
                ? users().stream().anyMatch(user -> surplus(user) > 0)
                : !violatingProcesses(rule).isEmpty();
    }

    /** Whom a rule may end by itself, and nobody else. For memory those are all who have a part in it. */
    Set<HostProcess> violatingProcesses(RuleDefinition rule) {
        var culprits = new HashSet<HostProcess>();
        for (var snapshot : fleet.snapshots()) {
            for (var process : snapshot.processes()) {
                if (breaks(rule, snapshot, process)) {
                    culprits.add(new HostProcess(snapshot.host(), process.id()));
                }
            }
        }
        return culprits;
    }

    Set<String> users() {
        var users = new TreeSet<String>();
        fleet.snapshots()
                .forEach(snapshot -> snapshot.environments().forEach(environment -> {
                    if (user(environment) != null) {
                        users.add(user(environment));
                    }
                }));
        return users;
    }

    /** How many devices a user must give up; 0 or less where there is nothing to give up. */
    int surplus(String user) {
        var limit = limits.perUser().containsKey(user) ? limits.perUser().get(user) : limits.general();
        return limit == null ? 0 : held(user).size() - limit;
    }

    /** The devices of a user, those first that do the least harm, when these processes are gone. */
    List<Slot> detachOrder(String user, Set<HostProcess> gone) {
        return held(user).stream()
                .sorted(Comparator.comparing((Slot slot) -> isBusy(user, slot, gone))
                        .thenComparing(slot -> hasProcessOfOwnersUid(user, slot, gone))
                        .thenComparing(slot -> attachedAt(user, slot), Comparator.reverseOrder())
                        .thenComparing(Slot::host)
                        .thenComparing(Slot::device, Comparator.reverseOrder()))
                .toList();
    }

    /** The attachments of a user to a device. */
    List<Action.Detach> attachments(String user, Slot slot) {
        return device(snapshot(slot.host()), slot.device()).attachments().stream()
                .flatMap(attachment -> Stream.ofNullable(environment(snapshot(slot.host()), attachment.eid()))
                        .map(own -> new Action.Detach(slot.host(), own, slot.device(), attachment)))
                .filter(detach -> user.equals(user(detach.environment()))
                        && !detach.environment().ownership().isDisputed())
                .toList();
    }

    static @Nullable String user(Environment environment) {
        var name = Objects.requireNonNullElse(environment.username(), "");
        return !name.isEmpty()
                ? name
                : Objects.requireNonNullElse(environment.uid(), 0L) != 0 ? "" + environment.uid() : null;
    }

    private Set<Slot> held(String user) {
        var held = new HashSet<Slot>();
        for (var snapshot : fleet.snapshots()) {
            for (var device : snapshot.devices()) {
                var slot = new Slot(snapshot.host(), device.index());
                if (snapshot.missing().isEmpty()
                        && snapshot.listedDevices().contains(device.index())
                        && !attachments(user, slot).isEmpty()) {
                    held.add(slot);
                }
            }
        }
        return held;
    }

    private boolean isBusy(String user, Slot slot, Set<HostProcess> gone) {
        var snapshot = snapshot(slot.host());
        return running(slot, gone)
                .anyMatch(process -> snapshot.environments().stream()
                        .filter(environment -> user.equals(user(environment)))
                        .filter(environment -> !environment.ownership().isDisputed())
                        .anyMatch(environment -> environment.equals(environmentOf(snapshot, process))
                                || environment.pids().contains(process.pid())));
    }

    private boolean hasProcessOfOwnersUid(String user, Slot slot, Set<HostProcess> gone) {
        var snapshot = snapshot(slot.host());
        return running(slot, gone)
                .anyMatch(process -> attachments(user, slot).stream()
                        .map(Action.Detach::environment)
                        .anyMatch(environment -> environment.equals(environmentOf(snapshot, process))
                                && hasTheUidOfItsUser(environment)
                                && process.uid() != null
                                && process.uid().equals(environment.uid())));
    }

    /** The machine says so, or nobody in the fleet says otherwise. */
    private boolean hasTheUidOfItsUser(Environment environment) {
        return environment.ownership().isAccount()
                || !Objects.equals(user(environment), environment.username())
                || fleet.snapshots().stream()
                        .flatMap(snapshot -> snapshot.environments().stream())
                        .filter(other -> other.ownership().dispute() == null)
                        .filter(other -> Objects.equals(user(other), user(environment)))
                        .allMatch(other -> Objects.equals(other.uid(), environment.uid()));
    }

    private Stream<GpuProcess> running(Slot slot, Set<HostProcess> gone) {
        return snapshot(slot.host()).processes().stream()
                .filter(process -> process.usage().stream().anyMatch(use -> use.device() == slot.device()))
                .filter(process -> !gone.contains(new HostProcess(slot.host(), process.id())));
    }

    private LocalDateTime attachedAt(String user, Slot slot) {
        return attachments(user, slot).stream()
                .map(detach -> detach.attachment().attachedAt())
                .max(Comparator.naturalOrder())
                .orElseThrow();
    }

    private static boolean breaks(RuleDefinition rule, Snapshot snapshot, GpuProcess process) {
        var environment = environmentOf(snapshot, process);
        return switch (rule) {
            case NON_ENV_PROCESSES ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && process.membership() instanceof Membership.Outside;
            case INACTIVE_ENV_PROCESSES ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && !snapshot.missing().contains(SnapshotPart.ENVIRONMENTS)
                        && process.membership() instanceof Membership.InEnvironment
                        && environment == null;
            case ENV_DEVICES ->
                isComplete(snapshot)
                        && environment != null
                        && process.usage().stream().anyMatch(use -> isUnattached(snapshot, environment, use.device()));
            case ENV_MEMORY ->
                isComplete(snapshot)
                        && environment != null
                        && process.usage().stream()
                                .anyMatch(use -> use.memory() != null
                                        && use.memory().bytes() > 0
                                        && isOver(snapshot, environment, use.device(), process.uid()));
            case ENV_OWNER ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && !snapshot.missing().contains(SnapshotPart.ENVIRONMENTS)
                        && environment != null
                        && isConfirmedStranger(environment, process.uid());
            case MAX_DEVICES_PER_USER -> false;
        };
    }

    /** A process that is not seen does not make those that are seen better. */
    private static boolean isComplete(Snapshot snapshot) {
        return Set.of(SnapshotPart.EVERY_PROCESS).containsAll(snapshot.missing());
    }

    private static boolean isUnattached(Snapshot snapshot, Environment environment, int index) {
        return snapshot.devices().stream()
                .anyMatch(device -> device.index() == index && !isAttached(device, environment));
    }

    private static boolean isAttached(Device device, Environment environment) {
        return device.attachments().stream().anyMatch(one -> one.eid().equals(environment.eid()));
    }

    private static boolean isOver(Snapshot snapshot, Environment environment, int index, @Nullable Long uid) {
        var capacity = environment.capacity();
        if (capacity.isEmpty()
                || snapshot.devices().stream().noneMatch(one -> one.index() == index && isAttached(one, environment))) {
            return false;
        }
        var used = BigInteger.ZERO;
        for (var process : snapshot.processes()) {
            for (var use : process.usage()) {
                if (environment.equals(environmentOf(snapshot, process))
                        && Objects.equals(process.uid(), uid)
                        && use.device() == index
                        && use.memory() != null) {
                    used = used.add(BigInteger.valueOf(use.memory().bytes()));
                }
            }
        }
        return used.compareTo(BigInteger.valueOf(capacity.get().bytes())) > 0;
    }

    /** The owner is known, not disputed, and confirmed by all live pids, and this is another user. */
    private static boolean isConfirmedStranger(Environment environment, @Nullable Long uid) {
        var ofPids = environment.ownership().uids();
        return environment.ownership().dispute() == null
                && ofPids.size() == 1
                && ofPids.iterator().next().equals(environment.uid())
                && user(environment) != null
                && uid != null
                && uid > 0
                && !ofPids.contains(uid);
    }

    private static Device without(Collection<Action.Detach> detached, String host, Device device) {
        var left = device.attachments().stream()
                .filter(attachment -> detached.stream()
                        .noneMatch(detach -> detach.host().equals(host)
                                && detach.device() == device.index()
                                && detach.attachment().equals(attachment)))
                .toList();
        return new Device(device.index(), device.totalMemory(), left);
    }

    private Snapshot snapshot(String host) {
        return fleet.snapshots().stream()
                .filter(one -> one.host().equals(host))
                .findFirst()
                .orElseThrow();
    }

    private static Device device(Snapshot snapshot, int index) {
        return snapshot.devices().stream()
                .filter(one -> one.index() == index)
                .findFirst()
                .orElseThrow();
    }

    private static @Nullable Environment environmentOf(Snapshot snapshot, GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? environment(snapshot, eid) : null;
    }

    private static @Nullable Environment environment(Snapshot snapshot, String eid) {
        for (var environment : snapshot.environments()) {
            if (environment.eid().equals(eid)) {
                return environment;
            }
        }
        return null;
    }
}
