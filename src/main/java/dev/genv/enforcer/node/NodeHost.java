package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.node.gpu.GpuProcesses;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.linux.KernelClock;
import dev.genv.enforcer.node.proc.Privileges;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcLivenessSource;
import dev.genv.enforcer.node.proc.ProcessProbe;
import dev.genv.enforcer.node.protection.ImmunityCheck;
import dev.genv.enforcer.node.protection.ImmunityLoader;
import dev.genv.enforcer.node.state.NodeState;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.MissingPrivilege;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.observation.state.LiveState;
import dev.genv.enforcer.policy.plan.Action;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The node: the machine that the service runs on. */
public final class NodeHost implements Host, Closeable {
    private final String name;
    private final ProcFs proc;
    private final ImmunityLoader immunityLoader;
    private final Privileges privileges;
    private final ProcessProbe probe;
    private final NvidiaSmi gpus;
    private final NodeState state;
    private final Signaller signaller;

    /**
     * Paths on this machine, and time limits.
     *
     * @param proc {@code /proc}, or another directory in tests
     * @param nvidiaSmi a path, or a name that is searched in the standard directories
     * @param requireHostPid whether to act only in the first PID namespace, to which the GPU tool's pids belong
     */
    public record NodePaths(
            Path proc,
            Path stateDirectory,
            Duration lockTimeout,
            String nvidiaSmi,
            Duration gpuTimeout,
            boolean requireHostPid) {}

    /**
     * Which actions are allowed, and which processes are immune.
     *
     * @param protectedExecutables programs that are never terminated, besides the built-in ones
     * @param exemptUsers names or uids of users whose processes are never terminated
     * @param acts whether any action is executed
     * @param signals whether processes are terminated
     */
    public record NodeSafety(
            List<ProtectedExecutable> protectedExecutables, List<String> exemptUsers, boolean acts, boolean signals) {}

    public NodeHost(String name, NodePaths places, NodeSafety care) {
        this.name = name;
        proc = new ProcFs(places.proc());
        immunityLoader = new ImmunityLoader(proc, care.protectedExecutables(), care.exemptUsers());
        privileges = new Privileges(
                proc,
                new Privileges.Needs(
                        places.requireHostPid(), care.acts() && care.signals(), care.acts(), places.stateDirectory()));
        probe = new ProcessProbe(proc);
        gpus = new NvidiaSmi(places.nvidiaSmi(), places.gpuTimeout());
        state = new NodeState(places.stateDirectory(), places.lockTimeout(), proc, privileges);
        signaller = new Signaller(probe);
    }

    /**
     * Gives an empty state directory of root the permissions that genv needs. Docker and Kubernetes create a missing mount point closed
     * to other users, and genv would fail in it.
     *
     * @return what was done or why it failed; empty if nothing was to be done
     */
    public Optional<String> openStateDirectory() throws InterruptedException {
        return state.openToAll();
    }

    /** Returns the missing privileges, each with how to grant it. */
    public List<String> missingPrivileges() throws InterruptedException {
        return state.checkDirectory().missingPrivileges().stream()
                .map(right -> right.problem().detail())
                .toList();
    }

    /**
     * Takes the enforcer lock, and removes the temporary files that a killed run left behind.
     *
     * @return what was done or why it failed; empty if nothing was to be done
     */
    public Optional<String> claim() throws InterruptedException {
        return state.claim();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Observation observe(Set<ProcessId> verified) throws InterruptedException {
        proc.beginObservation();
        var problems = new ArrayList<Problem>();
        var missing = EnumSet.noneOf(SnapshotPart.class);
        var place = state.checkDirectory();
        var lockStatus = place.lockStatus();
        if (lockStatus.problem() != null) {
            problems.add(lockStatus.problem());
        }
        place.missingPrivileges().forEach(right -> problems.add(right.problem()));
        var immunityCheck = immunityLoader.load(problems);
        // Processes are read before the state, so that the environment of a process that was just started is never
        // missing.
        var listing = processes(immunityCheck, problems, missing);
        // Before the state is read: a process that starts meanwhile must not count as older than an environment in it.
        var readAt = ticks();
        var read = state.read(place);
        var findings = new Findings();
        var environments = findings.add(
                LiveState.of(read, new ProcLivenessSource(proc), immunityCheck.accounts(), immunityCheck.exempt()));
        var members = listing.processes().stream()
                .map(process -> findings.add(environments.resolveMembership(process)))
                .toList();
        missing.addAll(findings.missing());
        var devices = findings.add(environments.devices(listing.devices(), missing));
        problems.addAll(findings.problems());
        missing.addAll(findings.missing());
        var snapshot = new Snapshot(
                name,
                members,
                environments.environments(),
                devices,
                listing.devices(),
                environments.uidsOfPids(),
                immunityLoader.subordinateUids(immunityCheck.accounts(), problems),
                missing,
                problems);
        var ended = verified.stream().filter(probe::hasEnded).collect(Collectors.toUnmodifiableSet());
        return new Observation(
                snapshot,
                "nvidia-smi",
                proc.machine().driverVersion(),
                readAt,
                ended,
                place.missingPrivileges().stream().map(MissingPrivilege::name).toList(),
                lockStatus.other() == null ? readOnlyReason() : lockStatus.other(),
                null,
                read.lockWait(),
                read.changedAt());
    }

    /** Releases the enforcer lock. */
    @Override
    public void close() throws IOException {
        state.close();
    }

    private static long ticks() {
        try {
            return KernelClock.ticks();
        } catch (IOException e) {
            throw new IllegalStateException("the kernel's clock cannot be read", e);
        }
    }

    private @Nullable String readOnlyReason() {
        return privileges.isOutsideHostPid() ? "this is not the host's PID namespace: run with --pid=host" : null;
    }

    private GpuProcesses.Listing processes(
            ImmunityCheck immunityCheck, List<Problem> problems, Set<SnapshotPart> missing)
            throws InterruptedException {
        if (privileges.isOutsideHostPid()) {
            missing.add(SnapshotPart.PROCESSES);
            return GpuProcesses.Listing.NONE;
        }
        return new GpuProcesses(gpus, probe, immunityCheck).list(problems, missing);
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done) throws InterruptedException {
        var readOnlyReason = readOnlyReason();
        if (readOnlyReason != null) {
            actions.forEach(action -> done.accept(action, Result.failed(readOnlyReason)));
            return;
        }
        proc.beginObservation();
        // Loaded again, because a program may have been replaced since the check.
        var immunityCheck = immunityLoader.load(new ArrayList<>());
        var detachments = new ArrayList<Action.Detach>();
        for (var action : actions) {
            switch (action) {
                case Action.Terminate terminate ->
                    done.accept(terminate, signaller.terminate(terminate, immunityCheck));
                case Action.Detach detach -> detachments.add(detach);
            }
        }
        if (!detachments.isEmpty()) {
            var detached = state.detach(detachments);
            for (var i = 0; i < detached.size(); i++) {
                done.accept(detachments.get(i), detached.get(i));
            }
        }
    }
}
