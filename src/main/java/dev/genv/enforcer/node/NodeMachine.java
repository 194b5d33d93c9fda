package dev.genv.enforcer.node;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.Machine.DeviceUse;
import dev.genv.enforcer.host.Machine.SignalRequest;
import dev.genv.enforcer.host.Machine.SignalResult;
import dev.genv.enforcer.host.Machine.SignalResult.Kind;
import dev.genv.enforcer.host.Machine.SwapResult;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.gpu.NvidiaDevices;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.proc.AncestorReader;
import dev.genv.enforcer.node.proc.CgroupRoot;
import dev.genv.enforcer.node.proc.ChildProcess;
import dev.genv.enforcer.node.proc.Hangable;
import dev.genv.enforcer.node.proc.LivenessReader;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessReader;
import dev.genv.enforcer.node.state.NodeState;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/** The node: the machine that the service runs on. */
public final class NodeMachine implements Machine, Closeable {
    private final ProcFs proc;
    private final CgroupRoot cgroupRoot;
    private final AccountFiles accounts;
    private final ProgramFiles programs;
    private final ProcessReader processes;
    private final ProcessReader searched;
    private final LivenessReader liveness;
    private final NvidiaSmi gpus;
    private final NodeState state;
    private final NvidiaDevices devices;

    /**
     * Paths on this machine, and time limits.
     *
     * @param proc {@code /proc}, or another directory in tests
     * @param lookupTimeout how long the name service may delay an observation
     * @param programs the protected programs, in the order of their facts
     */
    public record NodePaths(
            Path proc, Path stateDirectory, Duration lockTimeout, Duration lookupTimeout, List<Path> programs) {
        public NodePaths {
            programs = List.copyOf(programs);
        }
    }

    /** @param gpus which this machine then uses alone */
    public NodeMachine(NodePaths paths, NvidiaSmi gpus) {
        this.gpus = gpus;
        proc = new ProcFs(paths.proc());
        cgroupRoot = new CgroupRoot(paths.proc());
        var searches = proc.forSearches();
        accounts = new AccountFiles(
                proc,
                new ChildProcess("getent", paths.lookupTimeout()),
                new ChildProcess("id", paths.lookupTimeout()),
                paths.lookupTimeout());
        programs = new ProgramFiles(proc, paths.programs());
        processes = new ProcessReader(proc);
        searched = new ProcessReader(searches);
        liveness = new LivenessReader(searches);
        devices = new NvidiaDevices(paths.proc());
        state = new NodeState(paths.stateDirectory(), paths.lockTimeout(), proc);
    }

    /**
     * Gives an empty state directory of root the permissions that genv needs: Docker and Kubernetes create a missing mount point closed
     * to other users. Returns what was done or why it failed; empty if nothing was to be done.
     */
    public Optional<String> openStateDirectory() throws InterruptedException {
        return state.openToAll();
    }

    /** Takes the enforcer lock, and removes the temporary files of a killed run. Returns what was done, as above. */
    public Optional<String> claim() throws InterruptedException {
        return state.claim();
    }

    public AccessFacts access() throws InterruptedException {
        return proc.machine().access(state.checkDirectory().isWritable());
    }

    @Override
    public HostFacts observe(ObservationRequest interest) throws InterruptedException {
        proc.beginObservation();
        proc.setSubordinateUids(interest.subordinateUids());
        var earlierState = state.look();
        var programFacts = programs.read();
        var beforeListing = ticks();
        if (interest.deviceMemory()) {
            gpus.forgetDevices();
        }
        var gpuFacts = gpus.read(interest.deviceStatus());
        // Processes are read before the state, so that the environment of a process that was just started is never
        // missing.
        var listed = NvidiaSmi.listedPids(gpuFacts);
        var processFacts = processes.readAll(listed, interest.first());
        var ancestors = AncestorReader.read(searched, processFacts);
        var accountFacts = accounts.read(
                interest,
                processFacts.stream()
                        .flatMap(process -> process.uid() instanceof Reading.Value<Long>(var uid)
                                ? Stream.of(uid)
                                : Stream.empty()));
        // Before the state is read: a process that starts meanwhile must not count as older than an environment in it.
        var beforeState = ticks();
        var checkedState = state.checkAndRead(earlierState);
        var stateFacts = checkedState.facts();
        var differs = !earlierState.isSame(stateFacts);
        return new HostFacts(
                proc.machine().facts(cgroupRoot.read(), beforeListing, beforeState),
                proc.machine().access(checkedState.check().isWritable()),
                accountFacts,
                programFacts,
                gpuFacts,
                processFacts,
                ancestors,
                differs ? earlierState : null,
                stateFacts,
                liveness.read(
                        differs ? List.of(earlierState.envs(), stateFacts.envs()) : List.of(stateFacts.envs()),
                        processFacts),
                checkedState.check().enforcers(),
                verified(interest.verified()));
    }

    private List<VerifiedProcess> verified(Collection<ProcessId> processes) throws InterruptedException {
        var pids = processes.stream().map(ProcessId::pid).distinct().toList();
        var stats = proc.stats(pids).iterator();
        return pids.stream().map(pid -> new VerifiedProcess(pid, stats.next())).toList();
    }

    @Override
    public void close() {
        state.close();
        processes.close();
    }

    private static long ticks() {
        try {
            return Libc.ticksSinceBoot();
        } catch (IOException e) {
            throw new IllegalStateException("the kernel's clock cannot be read", e);
        }
    }

    @Override
    public void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done)
            throws InterruptedException {
        proc.beginObservation();
        // In turns of their owners: the files of a process can keep the kernel waiting.
        processes.inTurns(signals, signal -> signal.process().pid(), turn -> {
            done.accept(turn.process(), send(turn.process(), turn.inTime()));
            return turn;
        });
    }

    private SignalResult send(SignalRequest signal, boolean inTime) {
        var id = signal.process();
        try (var process = new Descriptor(Libc.pidfdOpen(id.pid()))) {
            var use = inTime ? use(id) : new DeviceUse(false, Hangable.NO_TIME);
            // If it still has its pid, it had that when the pidfd was opened and its files were examined.
            switch (proc.stat(id.pid())) {
                case Reading.Value<Bytes>(var content) -> {
                    var stat = ProcStat.parse(content.array());
                    if (stat.startTime() != id.startTime() || stat.isZombie()) {
                        return SignalResult.of(Kind.GONE);
                    }
                }
                case Reading.Failed<Bytes>(var failure, var reason) -> {
                    return failure == Failure.ABSENT
                            ? SignalResult.of(Kind.GONE)
                            : new SignalResult(Kind.UNEXAMINED, reason);
                }
            }
            if (!use.isProven()) {
                return use.unexamined().isEmpty()
                        ? SignalResult.of(Kind.WITHOUT_DEVICE)
                        : new SignalResult(Kind.UNEXAMINED, use.unexamined());
            }
            return Thread.currentThread().isInterrupted()
                    ? new SignalResult(Kind.NOT_SENT, "abandoned: the execution took too long")
                    : send(process, signal.kill());
        } catch (IOException e) {
            return e instanceof Errno errno && errno.is(Errno.ESRCH)
                    ? SignalResult.of(Kind.GONE)
                    : new SignalResult(Kind.NOT_SENT, Errno.textOf(e));
        }
    }

    private static SignalResult send(Descriptor process, boolean kill) throws Errno {
        try {
            Libc.pidfdSendSignal(process.number(), kill ? Libc.SIGKILL : Libc.SIGTERM);
            return SignalResult.of(Kind.SENT);
        } catch (Errno e) {
            if (e.is(Errno.EPERM) || e.is(Errno.EACCES)) { // the second one by a security module, such as AppArmor
                return SignalResult.of(Kind.DENIED);
            }
            throw e;
        }
    }

    private DeviceUse use(ProcessId process) {
        try {
            return proc.guarded(process, proc.realUid(process.pid()), () -> devices.use(process.pid()));
        } catch (IOException e) {
            return new DeviceUse(false, Errno.textOf(e));
        }
    }

    @Override
    public SwapResult swapDevices(String digest, byte[] content) throws InterruptedException {
        return state.swapDevices(digest, content);
    }
}
