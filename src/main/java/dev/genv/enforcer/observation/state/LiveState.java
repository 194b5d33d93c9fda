package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.LivenessFacts;
import dev.genv.enforcer.host.LivenessFacts.Kernels;
import dev.genv.enforcer.host.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashMap;
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

    /** Resolves the state with the exempt uids. */
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
     * Returns the devices with the attachments of active environments. The indices are those of the GPU tool, and some parts may be lacking so
     * far.
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
        var isUndecided =
                process.membership() instanceof Membership.Outside && missing.contains(SnapshotPart.ENVIRONMENTS);
        var membership = isUndecided
                ? new Membership.Unknown("names no environment, but it is unknown which environments list its pid")
                : Membership.resolve(process.membership(), process.pid(), listed);
        var found = Found.of(process.with(membership));
        return membership instanceof Membership.Unknown(var reason, var _)
                ? found.with(new Problem(
                        ProblemCode.MEMBERSHIP_UNKNOWN,
                        "process %d is not checked: %s".formatted(process.pid(), reason)))
                : found;
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

    /**
     * The active environments of a machine: one of their pids exists, even as a zombie, or one of their Jupyter kernels runs.
     *
     * @param environments each with its live pids only, because there may be many others
     * @param running the running processes by pid, as far as they are known
     */
    public record ActiveEnvironments(List<Environment> environments, Map<Integer, LiveProcess> running) {
        /** Decides which of the environments are active. They are missing if the running processes are unknown. */
        public static Found<ActiveEnvironments> of(LivenessFacts facts, Collection<Environment> environments) {
            return switch (facts.processes()) {
                case Reading.Value<List<LiveProcess>>(var processes) -> of(processes, facts.kernels(), environments);
                case Reading.Failed<List<LiveProcess>>(var _, var reason) ->
                    Found.of(new ActiveEnvironments(List.of(), Map.of()))
                            .without(SnapshotPart.ENVIRONMENTS)
                            .with(new Problem(
                                    ProblemCode.PROC_UNREADABLE, "the active environments are unknown: " + reason));
            };
        }

        private static Found<ActiveEnvironments> of(
                List<LiveProcess> processes, Kernels kernels, Collection<Environment> environments) {
            var running = new HashMap<Integer, LiveProcess>();
            processes.forEach(process -> running.put(process.pid(), process));
            var active = new ArrayList<Environment>();
            var uncertain = false;
            for (var environment : environments) {
                var pids = environment.pids().stream()
                        .distinct()
                        .filter(running::containsKey)
                        .toList();
                var isActive = !pids.isEmpty() || hasKernel(environment, kernels);
                // A missing kernel may be a process that was not searched; then its environment counts as active.
                var mayBeActive = !isActive
                        && !environment.kernelIds().isEmpty()
                        && !kernels.unsearched().isEmpty();
                if (isActive || mayBeActive) {
                    active.add(environment.with(pids));
                }
                uncertain |= mayBeActive;
            }
            var found = Found.of(new ActiveEnvironments(active, running));
            return uncertain
                    ? found.with(new Problem(
                            ProblemCode.KERNELS_UNKNOWN,
                            "the running Jupyter kernels are unknown, so environments with kernels count as active: "
                                    + kernels.unsearched()))
                    : found;
        }

        private static boolean hasKernel(Environment environment, Kernels kernels) {
            return environment.kernelIds().stream()
                    .anyMatch(kernel -> kernels.files().contains("kernel-" + kernel + ".json"));
        }

        /** Returns the real uids of the live pids that active environments list or are named after, as far as they are known. */
        public Map<Integer, Long> uids() {
            var uids = new HashMap<Integer, Long>();
            for (var environment : environments) {
                environment.pids().forEach(pid -> addUid(pid, uids));
                environment.shell().ifPresent(pid -> addUid(pid, uids));
            }
            return uids;
        }

        private void addUid(int pid, Map<Integer, Long> uids) {
            var process = running.get(pid);
            if (process != null && process.uid() != null) {
                uids.put(pid, process.uid());
            }
        }
    }
}
