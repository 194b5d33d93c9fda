package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.LiveState;
import dev.genv.enforcer.observation.MissingRight;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.Action;
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

/** The machine that we run on. */
public final class NodeHost implements Host, Closeable {
    private final String name;
    private final ProcFs proc;
    private final Guard guard;
    private final Rights rights;
    private final ProcessProbe probe;
    private final NvidiaSmi gpus;
    private final NodeState state;
    private final Signaller signaller;

    /**
     * Where things are on this machine, and how long to wait for them.
     *
     * @param proc {@code /proc}, or what a test takes for it
     * @param nvidiaSmi a path, or a name that is looked for in the usual folders
     * @param requireHostPid whether to believe the GPU tool's pids only in the first PID namespace, which is where they
     *     are from
     */
    public record Places(
            Path proc,
            Path stateDirectory,
            Duration lockTimeout,
            String nvidiaSmi,
            Duration gpuTimeout,
            boolean requireHostPid) {}

    /**
     * What may be done, and to whom not.
     *
     * @param protectedExecutables the programs that are never ended, besides those that are built in
     * @param exemptUsers names or uids of users of whom nothing is ended
     * @param acts whether anything is done at all
     * @param signals whether processes are ended then
     */
    public record Care(
            List<ProtectedExecutable> protectedExecutables, List<String> exemptUsers, boolean acts, boolean signals) {}

    public NodeHost(String name, Places places, Care care) {
        this.name = name;
        proc = new ProcFs(places.proc());
        guard = new Guard(proc, care.protectedExecutables(), care.exemptUsers());
        rights = new Rights(
                proc,
                new Rights.Needs(
                        places.requireHostPid(), care.acts() && care.signals(), care.acts(), places.stateDirectory()));
        probe = new ProcessProbe(proc);
        gpus = new NvidiaSmi(places.nvidiaSmi(), places.gpuTimeout());
        state = new NodeState(places.stateDirectory(), places.lockTimeout(), proc, rights);
        signaller = new Signaller(probe);
    }

    /**
     * Opens an empty state directory of root's to everybody. Docker and Kubernetes make a missing mount so, and genv
     * would fail in it for every user.
     *
     * @return what was done or could not be done; nothing where there was nothing to do
     */
    public Optional<String> openStateDirectoryToEverybody() throws InterruptedException {
        return state.openToEverybody();
    }

    /** What the service was not given here, each with how to grant it. */
    public List<String> missingRights() throws InterruptedException {
        return state.place().lacking().stream()
                .map(right -> right.problem().detail())
                .toList();
    }

    /**
     * From now on we act here, unless another enforcer does; and what one that was killed left unfinished is removed.
     *
     * @return what was done or could not be done; nothing where there was nothing to do
     */
    public Optional<String> takeCharge() throws InterruptedException {
        return state.takeCharge();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Look look(Set<ProcessId> verified) throws InterruptedException {
        proc.startLook();
        var problems = new ArrayList<Problem>();
        var missing = EnumSet.noneOf(Part.class);
        var place = state.place();
        var standing = place.standing();
        if (standing.problem() != null) {
            problems.add(standing.problem());
        }
        place.lacking().forEach(right -> problems.add(right.problem()));
        var spared = guard.look(problems);
        // The processes first and the state after: so a process that has just been started in a new environment is
        // never taken for one whose environment is not there.
        var seen = processes(spared, problems, missing);
        // Before the state is read: what is started while it is read must not count as older than an environment in it.
        var readAt = ticks();
        var read = state.read(place);
        var environments =
                new LiveState(read, new ProcLiving(proc), spared.accounts(), spared.exempt(), problems, missing);
        var snapshot = new Snapshot(
                name,
                seen.processes().stream().map(environments::settle).toList(),
                environments.environments(),
                environments.devices(seen.devices()),
                seen.devices(),
                environments.uidsOfPids(),
                guard.subordinateUids(spared.accounts(), problems),
                missing,
                problems);
        var ended = verified.stream().filter(probe::hasEnded).collect(Collectors.toUnmodifiableSet());
        return new Look(
                snapshot,
                "nvidia-smi",
                proc.machine().driverVersion(),
                readAt,
                ended,
                place.lacking().stream().map(MissingRight::name).toList(),
                standing.other() == null ? watchesOnly() : standing.other(),
                null,
                read.lockWait(),
                read.changedAt());
    }

    /** Lets another enforcer act here. */
    @Override
    public void close() throws IOException {
        state.close();
    }

    private static long ticks() {
        try {
            return KernelClock.ticks();
        } catch (IOException e) {
            throw new IllegalStateException("every kernel tells it", e);
        }
    }

    private @Nullable String watchesOnly() {
        return rights.isOutsideHostPid() ? "this is not the host's PID namespace: run with --pid=host" : null;
    }

    private GpuProcesses.Found processes(Spared spared, List<Problem> problems, Set<Part> missing)
            throws InterruptedException {
        if (rights.isOutsideHostPid()) {
            missing.add(Part.PROCESSES);
            return GpuProcesses.Found.NONE;
        }
        return new GpuProcesses(gpus, probe, spared).list(problems, missing);
    }

    @Override
    public void perform(List<Action> actions, BiConsumer<Action, Result> done) throws InterruptedException {
        var watchesOnly = watchesOnly();
        if (watchesOnly != null) {
            actions.forEach(action -> done.accept(action, Result.failed(watchesOnly)));
            return;
        }
        proc.startLook();
        // Not as it was when they were judged: since then a program may have been replaced.
        var spared = guard.look(new ArrayList<>());
        var detachments = new ArrayList<Action.Detach>();
        for (var action : actions) {
            switch (action) {
                case Action.Terminate terminate -> done.accept(terminate, signaller.end(terminate, spared));
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
