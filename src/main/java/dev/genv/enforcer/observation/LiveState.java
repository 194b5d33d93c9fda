package dev.genv.enforcer.observation;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.StateParser.State;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

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

    /**
     * Compares the recorded owners of a machine's environments with other sources. Every user can write any name; the uids of pids
     * come from the kernel, and the names of the accounts from files of root.
     *
     * @param uidsOfPids the real uids of the live pids, as far as they are known
     */
    public record OwnershipResolver(Map<Integer, Long> uidsOfPids, Accounts accounts, Set<Long> exempt) {
        private static final int TOLD = 8;

        public OwnershipResolver {
            uidsOfPids = Map.copyOf(uidsOfPids);
            exempt = Set.copyOf(exempt);
        }

        public List<Environment> resolve(Collection<Environment> environments) {
            var claims = new HashMap<String, SortedSet<Long>>();
            for (var environment : environments) {
                environment
                        .user()
                        .filter(user -> accounts.uidOf(user).isEmpty())
                        .ifPresent(user -> claims.computeIfAbsent(user, _ -> new TreeSet<>())
                                .addAll(claimsOf(environment)));
            }
            return environments.stream()
                    .map(environment -> environment.with(new Ownership(
                                    dispute(environment, claims).orElse(null),
                                    isExempt(environment),
                                    ofPids(environment))
                            .withAccount(account(environment).orElse(null))))
                    .toList();
        }

        /** A user can remove the recorded name, so the account of the uid takes its place: else the user had a second quota. */
        private Optional<String> account(Environment environment) {
            var name = environment.username();
            var uid = environment.uid();
            if (uid == null) {
                return Optional.empty();
            }
            if (name == null || name.isEmpty()) {
                return uid == 0
                        ? Optional.empty()
                        : accounts.namesOf(uid).stream().min(Comparator.naturalOrder());
            }
            return Optional.of(name).filter(user -> accounts.uidOf(user).equals(Optional.of(uid)));
        }

        private Optional<String> dispute(Environment environment, Map<String, SortedSet<Long>> claims) {
            var own = claimsOf(environment);
            if (environment.ownership().isDisputed()) {
                return Optional.ofNullable(environment.ownership().dispute()); // by the recorded user name
            }
            if (own.size() > 1) {
                return Optional.of("it is recorded for uid %s, but its pids are of uids %s"
                        .formatted(environment.uid(), some(ofPids(environment))));
            }
            var name = environment.username();
            if (name != null && !name.isEmpty()) {
                var against = contradiction(name, own);
                if (against != null) {
                    return Optional.of(against);
                }
            }
            // The true owner of the name is unknown, but two uids use it.
            return environment
                    .user()
                    .map(claims::get)
                    .filter(all -> all.size() > 1)
                    .map(all -> "environments of uids %s have the same user name".formatted(some(all)));
        }

        /** Users can record any number of uids, and each environment would repeat all of them. */
        private static String some(SortedSet<Long> uids) {
            var text = uids.stream().limit(TOLD).map(String::valueOf).collect(Collectors.joining(", "));
            return uids.size() > TOLD ? text + " and %d more".formatted(uids.size() - TOLD) : text;
        }

        private @Nullable String contradiction(String name, SortedSet<Long> claims) {
            var account = accounts.uidOf(name);
            if (account.isPresent()) {
                return claims.stream().allMatch(account.get()::equals)
                        ? null
                        : "user %s has uid %d, not %s".formatted(name, account.get(), claims.getFirst());
            }
            for (var uid : claims) {
                var names = accounts.namesOf(uid);
                if (!names.isEmpty()) {
                    return "uid %d is user %s, not %s".formatted(uid, String.join(" or ", new TreeSet<>(names)), name);
                }
            }
            return null;
        }

        private boolean isExempt(Environment environment) {
            var live =
                    environment.pids().stream().filter(uidsOfPids::containsKey).toList();
            return !live.isEmpty() && live.stream().map(uidsOfPids::get).allMatch(exempt::contains);
        }

        /** Returns the uids to which an environment may belong, by the record and by its pids. */
        private SortedSet<Long> claimsOf(Environment environment) {
            var claims = ofPids(environment);
            var recorded = environment.uid();
            if (recorded != null) {
                claims.add(recorded);
            }
            return claims;
        }

        private SortedSet<Long> ofPids(Environment environment) {
            var uids = new TreeSet<Long>();
            for (var pid : environment.pids()) {
                var uid = uidsOfPids.get(pid);
                if (uid != null) {
                    uids.add(uid);
                }
            }
            return uids;
        }
    }
}
