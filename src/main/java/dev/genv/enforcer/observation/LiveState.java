package dev.genv.enforcer.observation;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess.Immunity.Kind;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.StateParser.State;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The state of the active environments: one of their pids exists, even as a zombie, or one of their Jupyter kernels runs.
 *
 * @param file with the attachments of all environments
 */
public record LiveState(List<Environment> environments, DevicesFile file) {
    private static final int MAX_SHOWN = 20;

    public static LiveState of(State state, LivenessFacts liveness, ExemptUsers exempt, Findings findings) {
        var envs = content(state.envs(), SnapshotPart.ENVIRONMENTS, EnvsFile.EMPTY, findings);
        var file = content(state.devices(), SnapshotPart.ATTACHMENTS, DevicesFile.EMPTY, findings);
        findings.addAll(state.problems());
        findings.addAll(envs.problems());
        findings.addAll(file.problems());
        var running = new HashMap<Integer, LiveProcess>();
        if (liveness.processes() instanceof Reading.Value<List<LiveProcess>>(var processes)) {
            processes.forEach(process -> running.put(process.pid(), process));
        }
        var active = active(envs.environments(), liveness, running, findings);
        var environments = new OwnershipResolver(running, exempt.accounts(), exempt).resolve(active);
        reportUnknownUids(environments, running, findings);
        if (state.devices() instanceof State.File.Absent && !environments.isEmpty()) {
            findings.miss(SnapshotPart.ATTACHMENTS);
            findings.add(ProblemCode.STATE_INCOMPLETE, "devices.json is missing although environments are active");
        }
        // Only a machine without any file of genv is a new one.
        var mayHaveAttachments = state.devices() instanceof State.File.Unreadable
                || file.devices().stream()
                        .anyMatch(device -> !device.attachments().isEmpty());
        if (state.envs() instanceof State.File.Absent && mayHaveAttachments) {
            findings.miss(SnapshotPart.ENVIRONMENTS);
            findings.add(
                    ProblemCode.STATE_INCOMPLETE, "envs.json is missing although devices are, or may be, attached");
        }
        return new LiveState(environments, file);
    }

    private static <T> T content(State.File<T> file, SnapshotPart part, T none, Findings findings) {
        return switch (file) {
            case State.File.Present<T>(var content) -> content;
            case State.File.Absent<T>() -> none;
            case State.File.Unreadable<T>(var problem) -> {
                findings.miss(part);
                if (!findings.problems().contains(problem)) { // one problem can concern both files
                    findings.add(problem);
                }
                yield none;
            }
        };
    }

    /** Decides which of the environments are active. They are missing if the running processes are unknown. */
    private static List<Environment> active(
            List<Environment> environments, LivenessFacts facts, Map<Integer, LiveProcess> running, Findings findings) {
        if (facts.processes() instanceof Reading.Failed<List<LiveProcess>>(var _, var reason)) {
            findings.miss(SnapshotPart.ENVIRONMENTS);
            findings.add(ProblemCode.PROC_UNREADABLE, "the active environments are unknown: " + reason);
            return List.of();
        }
        var unsearched = facts.kernels().unsearched();
        var active = new ArrayList<Environment>();
        var uncertain = false;
        for (var environment : environments) {
            var isActive = environment.pids().stream().anyMatch(running::containsKey)
                    || environment.kernelIds().stream()
                            .anyMatch(kernel -> facts.kernels().files().contains("kernel-" + kernel + ".json"));
            // A missing kernel may be a process that was not searched; then its environment counts as active.
            var mayBeActive = !isActive && !environment.kernelIds().isEmpty() && !unsearched.isEmpty();
            if (isActive || mayBeActive) {
                active.add(environment);
            }
            uncertain |= mayBeActive;
        }
        if (uncertain) {
            findings.add(
                    ProblemCode.KERNELS_UNKNOWN,
                    "the running Jupyter kernels are unknown, so environments with kernels count as active: "
                            + unsearched);
        }
        return active;
    }

    private static void reportUnknownUids(
            List<Environment> environments, Map<Integer, LiveProcess> running, Findings findings) {
        for (var environment : environments) {
            var immunity = environment.ownership().immunity();
            if (immunity != null && immunity.kind() == Kind.PERHAPS_EXEMPT) {
                environment.pids().stream()
                        .flatMap(pid -> Stream.ofNullable(running.get(pid)))
                        .filter(process -> process.uid() == null)
                        .findFirst()
                        .ifPresent(process -> findings.add(
                                ProblemCode.IMMUNITY_UNKNOWN,
                                "environment %s is not detached: the real uid of its process %d is unknown, so it may be an exempt user's"
                                        .formatted(SafeText.escape(environment.eid()), process.pid())));
            }
        }
    }

    /**
     * Returns the devices with the attachments of active environments. The indices are those of the GPU tool. As in genv, a device that
     * the file does not describe validly has no attachment: otherwise a user could delete the entry of a device to use it unpunished. A file
     * that describes none of them is incomplete, like a missing one.
     */
    public List<Device> devices(Set<Integer> indices, Findings findings) {
        var living = environments.stream().map(Environment::eid).collect(Collectors.toSet());
        var devices = file.devices().stream()
                .map(device -> device.retainAttachments(living))
                .collect(Collectors.toCollection(ArrayList::new));
        reportUnlisted(devices, indices, findings);
        var undescribed = new TreeSet<>(indices);
        devices.forEach(device -> undescribed.remove(device.index()));
        if (undescribed.isEmpty() || environments.isEmpty() || findings.isMissing(SnapshotPart.ATTACHMENTS)) {
            return devices;
        }
        if (undescribed.equals(indices)) {
            findings.miss(SnapshotPart.ATTACHMENTS);
            findings.add(
                    ProblemCode.STATE_INCOMPLETE, "devices.json describes no device although environments are active");
            return devices;
        }
        findings.add(
                ProblemCode.DEVICE_UNDESCRIBED,
                "devices.json does not describe the device(s) %s: they count as attached to no environment"
                        .formatted(undescribed));
        undescribed.forEach(index -> devices.add(new Device(index, null, List.of())));
        return devices;
    }

    /** Every user can write such an attachment, so only the GPU tool proves the loss of a device. If it lists none, no rule can be checked. */
    private static void reportUnlisted(List<Device> devices, Set<Integer> indices, Findings findings) {
        var unlisted = devices.stream()
                .filter(device -> !device.attachments().isEmpty() && !indices.contains(device.index()))
                .map(Device::index)
                .sorted()
                .toList();
        if (unlisted.isEmpty()
                || findings.isMissing(SnapshotPart.PROCESSES)
                || findings.isMissing(SnapshotPart.EVERY_PROCESS)) {
            return;
        }
        var shown = unlisted.size() <= MAX_SHOWN ? unlisted : unlisted.subList(0, MAX_SHOWN) + " and more";
        if (indices.isEmpty()) {
            findings.miss(SnapshotPart.EVERY_PROCESS);
            findings.add(
                    ProblemCode.GPU_LOST,
                    "nvidia-smi lists no device, but active environments are attached to %s: reset the GPUs or reboot; if there are none, detach the environments"
                            .formatted(shown));
        } else {
            findings.add(
                    ProblemCode.DEVICE_UNLISTED,
                    "active environments are attached to the device(s) %s, which nvidia-smi does not list"
                            .formatted(shown));
        }
    }

    /** Returns the membership of a process by what its environ or its relatives name. What may excuse it must be known. */
    public Membership resolve(Membership named, int pid, Findings findings) {
        var isUndecided = named instanceof Membership.Outside && findings.isMissing(SnapshotPart.ENVIRONMENTS);
        var membership = isUndecided
                ? new Membership.Unknown("names no environment, but it is unknown which environments list its pid")
                : named;
        if (membership instanceof Membership.Unknown(var reason)) {
            findings.add(ProblemCode.MEMBERSHIP_UNKNOWN, "process %d is not checked: %s".formatted(pid, reason));
        }
        return membership;
    }
}
