package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.observation.GpuListing;
import dev.genv.enforcer.observation.LiveState;
import dev.genv.enforcer.observation.MissingRight;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.observation.ToolException;
import dev.genv.enforcer.remote.Terms;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a host answered when it was looked at, and what that adds up to. */
final class LookAnswer {
    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s.*");
    private static final Pattern MACHINE = Pattern.compile("[0-9a-f]{32}");
    private static final Pattern BOOT = Pattern.compile("[0-9a-f-]{36}");
    private static final GpuListing NOTHING = new GpuListing(Set.of(), Map.of(), List.of(), Optional.empty());

    private final String name;
    private final HostMemory memory;
    private final String nonce;
    private final Frames frames;
    private final RightsThere rights;
    private final List<Problem> problems = new ArrayList<>();
    private final Set<Part> missing = EnumSet.noneOf(Part.class);
    private final Accounts accounts;
    private final Protection protection;
    private Map<ProcessId, String> records = Map.of();

    LookAnswer(
            String name,
            Terms terms,
            List<ProtectedExecutable> programs,
            HostMemory memory,
            String nonce,
            Frames frames)
            throws UnreachableException {
        this.name = name;
        this.memory = memory;
        this.nonce = nonce;
        this.frames = frames;
        rights = new RightsThere(terms, frames);
        accounts = memory.accounts().read(frames, problems);
        protection = Protection.of(frames, programs, terms.exemptUsers(), accounts, problems);
    }

    /** What must be known of this look when something is done for it. */
    Seen seen(Host.Look look, long nanos) throws UnreachableException {
        var devices = frames.find("devices");
        var present = devices.isPresent() && devices.get().at(0).equals("present");
        return new Seen(
                look.watchesOnly(),
                protection,
                records,
                present ? devices.get().text() : null,
                look.ticks(),
                frames.one("machine").at(1),
                nanos);
    }

    /**
     * The look.
     *
     * @param verified the processes of which it reports whether they have ended
     * @param left the processes whose memory was left alone, for they hung before
     */
    Host.Look look(Set<ProcessId> verified, Set<ProcessId> left) throws UnreachableException {
        var watchesOnly = watchesOnly();
        var lacking = rights.missing();
        lacking.forEach(right -> problems.add(right.problem()));
        var listing = listing();
        var processes = processes(listing, left);
        var living = new LivingThere(frames, nonce);
        rememberKernels(living);
        var read = memory.states().state(frames, nonce);
        var state = new LiveState(read, living, accounts, protection.exempt(), problems, missing);
        var snapshot = new Snapshot(
                name,
                processes.stream().map(state::settle).toList(),
                state.environments(),
                state.devices(listing.devices()),
                listing.devices(),
                state.uidsOfPids(),
                SubordinateUids.NONE,
                missing,
                problems);
        // In another PID namespace the processes of the host are not there, whether they have ended or not.
        var now = rights.isOutsideHostPid() ? Stats.NONE : Stats.of(frames.one("verified"), nonce);
        return new Host.Look(
                snapshot,
                "nvidia-smi",
                driver(),
                frames.one("read").number(0),
                verified.stream().filter(now::hasEnded).collect(Collectors.toUnmodifiableSet()),
                lacking.stream().map(MissingRight::name).toList(),
                watchesOnly,
                machine(),
                read.lockWait(),
                read.changedAt());
    }

    private GpuListing listing() throws UnreachableException {
        try {
            if (!rights.isOutsideHostPid()) {
                var listing = memory.gpus().list(frames);
                listing.report(problems, missing);
                if (frames.find("too_many").isEmpty()) {
                    return listing;
                }
                problems.add(new Problem(
                        "gpu_tool_failed",
                        "nvidia-smi lists more processes than can be looked at: "
                                + frames.one("too_many").at(0)));
            }
        } catch (ToolException e) {
            problems.add(new Problem(e.code(), String.valueOf(e.getMessage())));
        }
        missing.add(Part.PROCESSES);
        return NOTHING;
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

    private void rememberKernels(LivingThere living) {
        if (living.kernelsHung()) {
            memory.hanging().hung(HostMemory.KERNELS);
        } else if (living.kernelsAnswered()) {
            memory.hanging().answered(HostMemory.KERNELS);
        }
    }

    /** Why nothing may be done there; null where it may. */
    private @Nullable String watchesOnly() throws UnreachableException {
        if (rights.isOutsideHostPid()) {
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
        problems.add(new Problem("second_enforcer", other + ": this one only watches"));
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
