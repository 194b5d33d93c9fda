package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.MissingPrivilege;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.observation.gpu.GpuListing;
import dev.genv.enforcer.observation.state.LiveState;
import dev.genv.enforcer.remote.AgentConfig;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a host answered when it was looked at, and what that adds up to. */
final class ObservationAnswer {
    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s.*");
    private static final Pattern MACHINE = Pattern.compile("[0-9a-f]{32}");
    private static final Pattern BOOT = Pattern.compile("[0-9a-f-]{36}");

    private final String name;
    private final ObservationContext memory;
    private final String nonce;
    private final Frames frames;
    private final RemotePrivileges privileges;
    private final List<Problem> problems = new ArrayList<>();
    private final Set<SnapshotPart> missing = EnumSet.noneOf(SnapshotPart.class);
    private final Accounts accounts;
    private final Protection protection;
    private Map<ProcessId, String> records = Map.of();

    ObservationAnswer(
            String name,
            AgentConfig config,
            List<ProtectedExecutable> programs,
            ObservationContext memory,
            String nonce,
            Frames frames)
            throws UnreachableException {
        this.name = name;
        this.memory = memory;
        this.nonce = nonce;
        this.frames = frames;
        privileges = new RemotePrivileges(config, frames);
        accounts = memory.accounts().read(frames, problems);
        protection = Protection.of(frames, programs, config.exemptUsers(), accounts, problems);
    }

    /** What must be known of this look when something is done for it. */
    ObservedMachine seen(Observation observation, long nanos) throws UnreachableException {
        var devices = frames.find("devices");
        var present = devices.isPresent() && devices.get().at(0).equals("present");
        return new ObservedMachine(
                observation.readOnlyReason(),
                protection,
                records,
                present ? devices.get().text() : null,
                observation.ticks(),
                frames.one("machine").at(1),
                nanos);
    }

    /**
     * The look.
     *
     * @param verified the processes of which it reports whether they have ended
     * @param left the processes whose memory was left alone, for they hung before
     */
    Observation look(Set<ProcessId> verified, Set<ProcessId> left) throws UnreachableException {
        var readOnlyReason = watchesOnly();
        var lacking = privileges.missing();
        lacking.forEach(right -> problems.add(right.problem()));
        var listing = listing();
        var processes = processes(listing, left);
        var living = new RemoteLivenessSource(frames, nonce);
        rememberKernels(living);
        var read = memory.states().state(frames, nonce);
        var found = LiveState.of(read, living, accounts, protection.exempt());
        problems.addAll(found.problems());
        missing.addAll(found.missing());
        var state = found.value();
        var findings = new Findings();
        var members = processes.stream()
                .map(process -> findings.add(state.resolveMembership(process)))
                .toList();
        var devices = findings.add(state.devices(listing.devices(), missing));
        problems.addAll(findings.problems());
        missing.addAll(findings.missing());
        var snapshot = new Snapshot(
                name,
                members,
                state.environments(),
                devices,
                listing.devices(),
                state.uidsOfPids(),
                SubordinateUids.NONE,
                missing,
                problems);
        // In another PID namespace the processes of the host are not there, whether they have ended or not.
        var now = privileges.isOutsideHostPid() ? Stats.NONE : Stats.of(frames.one("verified"), nonce);
        return new Observation(
                snapshot,
                "nvidia-smi",
                driver(),
                frames.one("read").number(0),
                verified.stream().filter(now::hasEnded).collect(Collectors.toUnmodifiableSet()),
                lacking.stream().map(MissingPrivilege::name).toList(),
                readOnlyReason,
                machine(),
                read.lockWait(),
                read.changedAt());
    }

    private GpuListing listing() throws UnreachableException {
        try {
            if (!privileges.isOutsideHostPid()) {
                var found = memory.gpus().list(frames);
                problems.addAll(found.problems());
                missing.addAll(found.missing());
                var listing = found.value();
                if (frames.find("too_many").isEmpty()) {
                    return listing;
                }
                problems.add(new Problem(
                        ProblemCode.GPU_TOOL_FAILED,
                        "nvidia-smi lists more processes than can be observed: "
                                + frames.one("too_many").at(0)));
            }
        } catch (ToolException e) {
            problems.add(new Problem(e.code(), String.valueOf(e.getMessage())));
        }
        missing.add(SnapshotPart.PROCESSES);
        return GpuListing.NONE;
    }

    private List<GpuProcess> processes(GpuListing listing, Set<ProcessId> left) throws UnreachableException {
        if (listing.usage().isEmpty()) {
            return List.of();
        }
        var answer = new ProcessAnswer(frames, nonce, protection);
        var processes = answer.processes(listing.usage(), problems, missing);
        records = answer.records();
        memory.silent().heard(processes, answer.silent(), left);
        left.stream().filter(answer::hasEnded).forEach(memory.silent()::ended);
        return processes;
    }

    private void rememberKernels(RemoteLivenessSource living) {
        if (living.kernelsHung()) {
            memory.hanging().hung(ObservationContext.KERNELS);
        } else if (living.kernelsAnswered()) {
            memory.hanging().answered(ObservationContext.KERNELS);
        }
    }

    /** Why nothing may be done there; null where it may. */
    private @Nullable String watchesOnly() throws UnreachableException {
        if (privileges.isOutsideHostPid()) {
            return "this login is not in the host's PID namespace: log in on the host itself, not in a container";
        }
        var enforcer = frames.find("enforcer");
        var leased = Lease.ofAnother(frames);
        if (enforcer.isEmpty() && leased.isEmpty()) {
            return null;
        }
        var other = enforcer.isPresent()
                ? "another enforcer (process %d) acts on this state directory"
                        .formatted(enforcer.get().number(0))
                : leased.orElseThrow();
        problems.add(new Problem(ProblemCode.SECOND_ENFORCER, other + ": this one only observes"));
        return other;
    }

    private @Nullable String driver() throws UnreachableException {
        var match = DRIVER.matcher(frames.one("driver").from(0));
        return match.matches() ? match.group(1) : null;
    }

    /** Machines that were copied have one id; none of them has the boot of another. */
    private @Nullable String machine() throws UnreachableException {
        var frame = frames.one("machine");
        var known = MACHINE.matcher(frame.at(0)).matches()
                && BOOT.matcher(frame.at(1)).matches();
        return known ? frame.from(0) : null;
    }
}
