package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import java.math.BigInteger;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Who breaks the rules: slow, simple, and written from the rules' words, not from their code. */
record PolicyOracle(Fleet fleet, Limits limits, Limits memory) {

    /** The fleet once these processes are gone and these attachments are taken away. */
    PolicyOracle after(Collection<HostProcess> ended, Collection<Action.Detach> detached) {
        var snapshots = fleet.snapshots().stream()
                .map(before -> new Snapshot(
                        before.host(),
                        before.processes().stream()
                                .filter(process -> !ended.contains(new HostProcess(before.host(), process.id())))
                                .toList(),
                        before.unexplained(),
                        before.environments(),
                        before.devices().stream()
                                .map(device -> without(detached, before.host(), device))
                                .toList(),
                        before.listedDevices(),
                        before.missing(),
                        before.problems(),
                        HostDetails.NONE))
                .toList();
        return new PolicyOracle(new Fleet(snapshots, fleet.remote()).with(fleet.idleness()), limits, memory);
    }

    boolean isBroken(RuleDefinition rule) {
        return switch (rule.name()) {
            case "max-devices-per-user" -> quotas().isAnyExceeded();
            case "idle-devices" -> !idleAttachments().isEmpty();
            default -> !violatingProcesses(rule).isEmpty();
        };
    }

    QuotaOracle quotas() {
        return new QuotaOracle(fleet, limits);
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

    static @Nullable String user(Environment environment) {
        var name = Objects.requireNonNullElse(environment.username(), "");
        return !name.isEmpty()
                ? name
                : Objects.requireNonNullElse(environment.uid(), 0L) != 0 ? "" + environment.uid() : null;
    }

    private boolean breaks(RuleDefinition rule, Snapshot snapshot, GpuProcess process) {
        var environment = environmentOf(snapshot, process);
        return switch (rule.name()) {
            case "non-env-processes" ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && process.membership() instanceof Membership.Outside
                        && isAccused(process);
            case "inactive-env-processes" ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && !snapshot.missing().contains(SnapshotPart.ENVIRONMENTS)
                        && process.membership() instanceof Membership.InEnvironment
                        && environment == null
                        && isAccused(process);
            case "env-devices" ->
                isComplete(snapshot)
                        && environment != null
                        && process.usage().stream()
                                .anyMatch(use -> !process.isExcusedOn(use.device())
                                        && isUnattached(snapshot, environment, use.device()));
            case "env-memory" ->
                isComplete(snapshot)
                        && environment != null
                        && process.usage().stream()
                                .anyMatch(use -> use.memory() != null
                                        && use.memory().bytes() > 0
                                        && !process.isExcusedOn(use.device())
                                        && isOver(snapshot, environment, use.device(), process.uid()));
            case "env-owner" ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && !snapshot.missing().contains(SnapshotPart.ENVIRONMENTS)
                        && environment != null
                        && isConfirmedStranger(environment, process.uid())
                        && environment.ownership().areUidsKnown();
            case "max-memory-per-user" ->
                !snapshot.missing().contains(SnapshotPart.PROCESSES)
                        && process.immunity() == null
                        && known(process).signum() > 0
                        && usesTooMuch(process.uid());
            case "idle-processes" ->
                Set.of(SnapshotPart.ATTACHMENTS, SnapshotPart.EVERY_ENVIRON, SnapshotPart.EXEMPT_USERS)
                                .containsAll(snapshot.missing())
                        && environment != null
                        && process.immunity() == null
                        && known(process).signum() > 0
                        && isLong(fleet.idleness().processes().get(new HostProcess(snapshot.host(), process.id())))
                        && process.devices().stream().allMatch(device -> isQuiet(snapshot, device));
            case "max-devices-per-user", "idle-devices" -> false;
            default -> throw new AssertionError("PolicyOracle does not know who breaks the rule " + rule);
        };
    }

    private static boolean isAccused(GpuProcess process) {
        return process.devices().isEmpty() || !process.devices().stream().allMatch(process::isExcusedOn);
    }

    /** A process that is not seen does not make those that are seen better. */
    private static boolean isComplete(Snapshot snapshot) {
        return Set.of(SnapshotPart.EVERY_PROCESS, SnapshotPart.EVERY_ENVIRON, SnapshotPart.EXEMPT_USERS)
                .containsAll(snapshot.missing());
    }

    private static boolean isUnattached(Snapshot snapshot, Environment environment, int index) {
        return snapshot.devices().stream()
                .noneMatch(device -> device.index() == index && isAttached(device, environment));
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
                        && !process.isExcusedOn(index)
                        && use.memory() != null) {
                    used = used.add(BigInteger.valueOf(use.memory().bytes()));
                }
            }
        }
        return used.compareTo(BigInteger.valueOf(capacity.get().bytes())) > 0;
    }

    /** The attachments on which nothing ran for long, as host, environment and device. */
    Set<Appearances.Key> idleAttachments() {
        var idle = new HashSet<Appearances.Key>();
        for (var snapshot : fleet.snapshots()) {
            for (var device : snapshot.devices()) {
                for (var attachment : device.attachments()) {
                    var environment = environment(snapshot, attachment.eid());
                    var key = new Appearances.Key(snapshot.host(), attachment.eid(), device.index());
                    if (isWithoutGap(snapshot)
                            && environment != null
                            && user(environment) != null
                            && environment.ownership().dispute() == null
                            && isLong(fleet.idleness().attachments().get(key))) {
                        idle.add(key);
                    }
                }
            }
        }
        return idle;
    }

    private static boolean isWithoutGap(Snapshot snapshot) {
        return Set.of(SnapshotPart.EVERY_ENVIRON, SnapshotPart.EXEMPT_USERS).containsAll(snapshot.missing());
    }

    private static boolean isLong(@Nullable Duration idle) {
        return idle != null && idle.toHours() >= 4;
    }

    private boolean isQuiet(Snapshot snapshot, int device) {
        return snapshot.listedDevices().contains(device)
                && isLong(fleet.idleness().quiet().get(new HostDevice(snapshot.host(), device)));
    }

    private boolean usesTooMuch(@Nullable Long uid) {
        var limit = memory.limitFor(
                        limited -> limited.equals(String.valueOf(uid)) ? Match.YES : Match.NO, _ -> Match.UNKNOWN)
                .orNull();
        var used = BigInteger.ZERO;
        for (var snapshot : fleet.snapshots()) {
            for (var process : snapshot.processes()) {
                if (!snapshot.missing().contains(SnapshotPart.PROCESSES) && Objects.equals(process.uid(), uid)) {
                    used = used.add(known(process));
                }
            }
        }
        return uid != null
                && uid != 0
                && limit != null
                && used.compareTo(BigInteger.valueOf(limit).shiftLeft(20)) > 0;
    }

    private static BigInteger known(GpuProcess process) {
        var known = BigInteger.ZERO;
        for (var use : process.usage()) {
            known = use.memory() == null
                    ? known
                    : known.add(BigInteger.valueOf(use.memory().bytes()));
        }
        return known;
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

    static @Nullable Environment environmentOf(Snapshot snapshot, GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? environment(snapshot, eid) : null;
    }

    static @Nullable Environment environment(Snapshot snapshot, String eid) {
        for (var environment : snapshot.environments()) {
            if (environment.eid().equals(eid)) {
                return environment;
            }
        }
        return null;
    }
}
