package dev.genv.enforcer.observation;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Owners;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The state of the environments that are alive; what cannot be known is put among the problems and the missing parts. */
public final class LiveState {
    private static final int MOST_SHOWN = 20;

    private final List<Problem> problems;
    private final Set<Part> missing;
    private final EnvsFile envs;
    private final DevicesFile file;
    private final List<Environment> environments;
    private final Map<Integer, Membership.Unknown> listed;
    private Map<Integer, Long> uidsOfPids = Map.of();

    /**
     * Puts it together.
     *
     * @param exempt the uids of which nothing is ended
     */
    public LiveState(
            State state,
            Living living,
            Accounts accounts,
            Set<Long> exempt,
            List<Problem> problems,
            Set<Part> missing) {
        this.problems = problems;
        this.missing = missing;
        envs = content(state.envs(), Part.ENVIRONMENTS, EnvsFile.EMPTY);
        file = content(state.devices(), Part.ATTACHMENTS, DevicesFile.EMPTY);
        problems.addAll(state.problems());
        problems.addAll(envs.problems());
        problems.addAll(file.problems());
        environments = alive(living, accounts, exempt);
        listed = Membership.ofListedPids(environments);
        if (state.devices() instanceof State.File.Absent && !environments.isEmpty()) {
            lose(
                    Part.ATTACHMENTS,
                    ProblemCode.STATE_INCOMPLETE,
                    "devices.json is missing although environments are active");
        }
        if (state.envs() instanceof State.File.Absent && mayHaveAttachments()) {
            lose(
                    Part.ENVIRONMENTS,
                    ProblemCode.STATE_INCOMPLETE,
                    "envs.json is missing although devices are, or may be, attached");
        }
    }

    /** Also where nobody can read whether there are any: only a machine without any trace of genv is a fresh one. */
    private boolean mayHaveAttachments() {
        return missing.contains(Part.ATTACHMENTS)
                || file.devices().stream()
                        .anyMatch(device -> !device.attachments().isEmpty());
    }

    public List<Environment> environments() {
        return environments;
    }

    /** The real uids of the live pids that environments list or are named after, as far as they are known. */
    public Map<Integer, Long> uidsOfPids() {
        return uidsOfPids;
    }

    /**
     * The devices with the attachments of live environments.
     *
     * @param listed those that the GPU tool lists
     */
    public List<Device> devices(Set<Integer> listed) {
        var described = file.devices().stream().map(Device::index).collect(Collectors.toSet());
        if (!environments.isEmpty() && !missing.contains(Part.ATTACHMENTS) && !described.containsAll(listed)) {
            var lacking = listed.stream()
                    .filter(index -> !described.contains(index))
                    .sorted()
                    .toList();
            problems.add(new Problem(
                    ProblemCode.DEVICE_UNDESCRIBED, "devices.json lacks the device(s) " + lacking + ": not judged"));
        }
        var living = environments.stream().map(Environment::eid).collect(Collectors.toSet());
        var devices =
                file.devices().stream().map(device -> device.ofOnly(living)).toList();
        compare(devices, listed);
        return devices;
    }

    /**
     * Looks for attached devices that the GPU tool does not list. Every user can write such an attachment, so that one
     * device is lost is believed of the GPU tool alone. Where it lists none at all there is nothing to be judged either.
     */
    private void compare(List<Device> devices, Set<Integer> listed) {
        var unlisted = devices.stream()
                .filter(device -> !device.attachments().isEmpty() && !listed.contains(device.index()))
                .map(Device::index)
                .sorted()
                .toList();
        if (unlisted.isEmpty() || missing.contains(Part.PROCESSES) || missing.contains(Part.EVERY_PROCESS)) {
            return;
        }
        var shown = unlisted.size() <= MOST_SHOWN ? unlisted : unlisted.subList(0, MOST_SHOWN) + " and more";
        if (listed.isEmpty()) {
            lose(
                    Part.EVERY_PROCESS,
                    ProblemCode.GPU_LOST,
                    "nvidia-smi lists no device, but active environments are attached to %s: reset the GPUs or reboot; if there are none, detach the environments"
                            .formatted(shown));
        } else {
            problems.add(new Problem(
                    ProblemCode.DEVICE_UNLISTED,
                    "active environments are attached to the device(s) %s, which nvidia-smi does not list"
                            .formatted(shown)));
        }
    }

    /** The process with what is to be thought of its membership, now that the environments are known. */
    public GpuProcess settle(GpuProcess process) {
        var membership = settle(process.membership(), process);
        if (membership instanceof Membership.Unknown(var reason, var _)) {
            problems.add(new Problem(
                    ProblemCode.MEMBERSHIP_UNKNOWN, "process %d is not judged: %s".formatted(process.pid(), reason)));
        }
        return process.with(membership);
    }

    private Membership settle(Membership own, GpuProcess process) {
        return switch (own) {
            case Membership.Outside()
            when missing.contains(Part.ENVIRONMENTS) ->
                new Membership.Unknown("names no environment, but which environments list its pid is not known");
            default -> Membership.resolve(own, process.pid(), listed);
        };
    }

    private List<Environment> alive(Living living, Accounts accounts, Set<Long> exempt) {
        try {
            var alive = living.among(envs.environments());
            living.doubt().ifPresent(problems::add);
            uidsOfPids = living.uids(alive);
            var judged = new ArrayList<Environment>();
            for (var environment : new Owners(uidsOfPids, accounts, exempt).judge(alive)) {
                judged.add(withShellStart(environment, living));
            }
            return judged;
        } catch (IOException e) {
            lose(
                    Part.ENVIRONMENTS,
                    ProblemCode.PROC_UNREADABLE,
                    "which environments are alive is not known: " + e.getMessage());
            return List.of();
        }
    }

    private Environment withShellStart(Environment environment, Living living) throws IOException {
        var shell = environment.shell().filter(environment.pids()::contains).orElse(null);
        var uid = shell == null ? null : uidsOfPids.get(shell);
        return shell != null && uid != null && uid.equals(environment.uid())
                ? environment.with(environment
                        .ownership()
                        .withShellStart(living.startOf(shell).orElse(null)))
                : environment;
    }

    private <T> T content(State.File<T> file, Part part, T none) {
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

    private void lose(Part part, ProblemCode code, String why) {
        missing.add(part);
        problems.add(new Problem(code, why));
    }
}
