package dev.genv.enforcer.policy;

import static dev.genv.enforcer.policy.PolicyOracle.environment;
import static dev.genv.enforcer.policy.PolicyOracle.environmentOf;
import static dev.genv.enforcer.policy.PolicyOracle.user;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import java.time.LocalDateTime;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Who holds too many devices, and which of them must go: slow, simple, and written from the rule's words, not from its code. */
record QuotaOracle(Fleet fleet, Limits limits) {

    /** A device of a machine. */
    record Slot(String host, int device) {}

    boolean isAnyExceeded() {
        return users().stream().anyMatch(user -> surplus(user) > 0);
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
        var limit = limits.perUser().keySet().stream()
                .filter(limited -> limited.equals(user) || hasUid(user, limited))
                .map(limits.perUser()::get)
                .max(Comparator.naturalOrder())
                .orElse(limits.general());
        return limit == null ? 0 : held(user).size() - limit;
    }

    private boolean hasUid(String user, String uid) {
        return fleet.snapshots().stream()
                .flatMap(snapshot -> snapshot.environments().stream())
                .filter(environment -> user.equals(user(environment)))
                .filter(environment -> !environment.ownership().isDisputed())
                .anyMatch(environment -> uid.equals(String.valueOf(environment.uid())));
    }

    /** The devices of a user, those first that do the least harm, when these processes are gone. */
    List<Slot> detachOrder(String user, Set<HostProcess> gone) {
        return held(user).stream()
                .sorted(Comparator.comparing((Slot slot) -> hasProcessOfOwnersUid(user, slot, gone))
                        .thenComparing(slot -> isBusy(user, slot, gone))
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

    private Set<Slot> held(String user) {
        var held = new HashSet<Slot>();
        for (var snapshot : fleet.snapshots()) {
            for (var device : snapshot.devices()) {
                var slot = new Slot(snapshot.host(), device.index());
                if (Set.of(SnapshotPart.EVERY_ENVIRON, SnapshotPart.EXEMPT_USERS)
                                .containsAll(snapshot.missing())
                        && snapshot.listedDevices().contains(device.index())
                        && !attachments(user, slot).isEmpty()) {
                    held.add(slot);
                }
            }
        }
        return held;
    }

    private boolean isBusy(String user, Slot slot, Set<HostProcess> gone) {
        return running(slot, gone)
                .anyMatch(process -> process.membership() instanceof Membership.Unknown
                        || process.isExcusedOn(slot.device())
                        || attachments(user, slot).stream()
                                .map(Action.Detach::environment)
                                .anyMatch(
                                        environment -> environment.equals(environmentOf(snapshot(slot.host()), process))
                                                || environment.pids().contains(process.pid())));
    }

    private boolean hasProcessOfOwnersUid(String user, Slot slot, Set<HostProcess> gone) {
        return running(slot, gone)
                .anyMatch(process -> attachments(user, slot).stream()
                        .map(Action.Detach::environment)
                        .anyMatch(environment -> isIn(user, slot, process)
                                && hasTheUidOfItsUser(environment)
                                && environment.uid() != null
                                && (environment.uid().equals(process.uid())
                                        || environment.uid().equals(process.owner()))));
    }

    private boolean isIn(String user, Slot slot, GpuProcess process) {
        return process.membership() instanceof Membership.Unknown
                || process.isExcusedOn(slot.device())
                || attachments(user, slot).stream()
                        .anyMatch(detach -> detach.environment().equals(environmentOf(snapshot(slot.host()), process)));
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
}
