package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.LivenessFacts;
import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.model.user.Accounts;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The state of the active environments. */
public final class LiveState {
    private static final int MAX_SHOWN = 20;

    private final List<Problem> problems = new ArrayList<>();
    private final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);
    private final EnvsFile envs;
    private final DevicesFile file;
    private final List<Environment> environments;
    private final Map<Integer, Membership.Unknown> listed;
    private final Map<Integer, Long> uidsOfPids;

    private LiveState(State state, LivenessFacts liveness, Accounts accounts, Set<Long> exempt) {
        envs = content(state.envs(), SnapshotPart.ENVIRONMENTS, EnvsFile.EMPTY);
        file = content(state.devices(), SnapshotPart.ATTACHMENTS, DevicesFile.EMPTY);
        problems.addAll(state.problems());
        problems.addAll(envs.problems());
        problems.addAll(file.problems());
        var found = ActiveEnvironments.of(liveness, envs.environments());
        problems.addAll(found.problems());
        missing.addAll(found.missing());
        uidsOfPids = found.value().uids();
        environments = new OwnershipResolver(uidsOfPids, accounts, exempt)
                .resolve(found.value().environments());
        listed = Membership.ofListedPids(environments);
        if (state.devices() instanceof State.File.Absent && !environments.isEmpty()) {
            markMissing(
                    SnapshotPart.ATTACHMENTS,
                    ProblemCode.STATE_INCOMPLETE,
                    "devices.json is missing although environments are active");
        }
        if (state.envs() instanceof State.File.Absent && mayHaveAttachments()) {
            markMissing(
                    SnapshotPart.ENVIRONMENTS,
                    ProblemCode.STATE_INCOMPLETE,
                    "envs.json is missing although devices are, or may be, attached");
        }
    }

    /**
     * Resolves the state.
     *
     * @param exempt the exempt uids
     */
    public static Found<LiveState> of(State state, LivenessFacts liveness, Accounts accounts, Set<Long> exempt) {
        var live = new LiveState(state, liveness, accounts, exempt);
        return new Found<>(live, live.problems, live.missing);
    }

    /** True also if that cannot be read: only a machine without any file of genv is a new one. */
    private boolean mayHaveAttachments() {
        return missing.contains(SnapshotPart.ATTACHMENTS)
                || file.devices().stream()
                        .anyMatch(device -> !device.attachments().isEmpty());
    }

    public List<Environment> environments() {
        return environments;
    }

    /** Returns the real uids of the live pids that environments list or are named after, as far as they are known. */
    public Map<Integer, Long> uidsOfPids() {
        return uidsOfPids;
    }

    /**
     * Returns the devices with the attachments of active environments.
     *
     * @param indices the devices that the GPU tool lists
     * @param lacking the parts of the observation that are missing so far
     */
    public Found<List<Device>> devices(Set<Integer> indices, Set<SnapshotPart> lacking) {
        var living = environments.stream().map(Environment::eid).collect(Collectors.toSet());
        var devices = file.devices().stream()
                .map(device -> device.retainAttachments(living))
                .toList();
        var found = compare(devices, indices, lacking);
        var described = file.devices().stream().map(Device::index).collect(Collectors.toSet());
        if (environments.isEmpty() || lacking.contains(SnapshotPart.ATTACHMENTS) || described.containsAll(indices)) {
            return found;
        }
        var undescribed = indices.stream()
                .filter(index -> !described.contains(index))
                .sorted()
                .toList();
        return found.with(new Problem(
                ProblemCode.DEVICE_UNDESCRIBED, "devices.json lacks the device(s) " + undescribed + ": not checked"));
    }

    /**
     * Reports attached devices that the GPU tool does not list. Every user can write such an attachment, so only the GPU tool proves
     * the loss of a device. If it lists no device at all, no rule can be checked.
     */
    private static Found<List<Device>> compare(List<Device> devices, Set<Integer> indices, Set<SnapshotPart> lacking) {
        var found = Found.of(devices);
        var unlisted = devices.stream()
                .filter(device -> !device.attachments().isEmpty() && !indices.contains(device.index()))
                .map(Device::index)
                .sorted()
                .toList();
        if (unlisted.isEmpty()
                || lacking.contains(SnapshotPart.PROCESSES)
                || lacking.contains(SnapshotPart.EVERY_PROCESS)) {
            return found;
        }
        var shown = unlisted.size() <= MAX_SHOWN ? unlisted : unlisted.subList(0, MAX_SHOWN) + " and more";
        return indices.isEmpty()
                ? found.without(SnapshotPart.EVERY_PROCESS)
                        .with(new Problem(
                                ProblemCode.GPU_LOST,
                                "nvidia-smi lists no device, but active environments are attached to %s: reset the GPUs or reboot; if there are none, detach the environments"
                                        .formatted(shown)))
                : found.with(new Problem(
                        ProblemCode.DEVICE_UNLISTED,
                        "active environments are attached to the device(s) %s, which nvidia-smi does not list"
                                .formatted(shown)));
    }

    /** Returns the process with its membership resolved by the environments. */
    public Found<GpuProcess> resolveMembership(GpuProcess process) {
        var membership = resolveMembership(process.membership(), process);
        var found = Found.of(process.with(membership));
        return membership instanceof Membership.Unknown(var reason, var _)
                ? found.with(new Problem(
                        ProblemCode.MEMBERSHIP_UNKNOWN,
                        "process %d is not checked: %s".formatted(process.pid(), reason)))
                : found;
    }

    private Membership resolveMembership(Membership own, GpuProcess process) {
        return switch (own) {
            case Membership.Outside()
            when missing.contains(SnapshotPart.ENVIRONMENTS) ->
                new Membership.Unknown("names no environment, but it is unknown which environments list its pid");
            default -> Membership.resolve(own, process.pid(), listed);
        };
    }

    private <T> T content(State.File<T> file, SnapshotPart part, T none) {
        return switch (file) {
            case State.File.Present<T>(var content) -> content;
            case State.File.Absent<T>() -> none;
            case State.File.Unreadable<T>(var problem) -> {
                missing.add(part);
                if (!problems.contains(problem)) {
                    problems.add(problem);
                }
                yield none;
            }
        };
    }

    private void markMissing(SnapshotPart part, ProblemCode code, String why) {
        missing.add(part);
        problems.add(new Problem(code, why));
    }
}
