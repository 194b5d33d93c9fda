package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.enforcement.host.Machine.DeviceUse;
import dev.genv.enforcer.enforcement.host.Machine.Examination;
import dev.genv.enforcer.enforcement.host.Machine.Examined;
import dev.genv.enforcer.enforcement.host.Machine.SignalRequest;
import dev.genv.enforcer.enforcement.host.Machine.SignalResult;
import dev.genv.enforcer.enforcement.host.Machine.SignalResult.Kind;
import dev.genv.enforcer.enforcement.host.Machine.SwapResult;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.node.gpu.DeviceHolders;
import dev.genv.enforcer.node.gpu.NvidiaDevices;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.proc.AncestorReader;
import dev.genv.enforcer.node.proc.ChildProcess;
import dev.genv.enforcer.node.proc.Hangable;
import dev.genv.enforcer.node.proc.LivenessReader;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessReader;
import dev.genv.enforcer.node.proc.ProcessTurns.Turn;
import dev.genv.enforcer.node.state.NodeState;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/** The node: the machine that the service runs on. */
public final class NodeMachine implements Machine, Closeable {
    private final ProcFs proc;
    private final AccountFiles accounts;
    private final ProgramFiles programs;
    private final ProcessReader processes;
    private final ProcessReader searched;
    private final LivenessReader liveness;
    private final DeviceHolders holders;
    private final NvidiaSmi gpus;
    private final NodeState state;
    private final Signaller signaller;

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
        var devices = new NvidiaDevices(paths.proc());
        holders = new DeviceHolders(searches, devices);
        state = new NodeState(paths.stateDirectory(), paths.lockTimeout(), proc);
        signaller = new Signaller(proc, processes, devices);
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
        signaller.closeHandles();
        proc.beginObservation();
        proc.setSubordinateUids(interest.subordinateUids());
        var earlierState = state.look();
        var check = state.checkDirectory();
        var access = proc.machine().access(check.isWritable());
        var programFacts = programs.read();
        var beforeListing = ticks();
        if (interest.deviceMemory()) {
            gpus.forgetDevices();
        }
        var gpuFacts = gpus.read(interest.deviceStatus());
        // Processes are read before the state, so that the environment of a process that was just started is never
        // missing.
        var listed = NvidiaSmi.listedPids(gpuFacts);
        var unexamined = new HashSet<>(listed);
        unexamined.removeAll(interest.reusedPids());
        var found = interest.deviceHolders() ? holders.search(unexamined) : DeviceHolders.Found.NONE;
        var processFacts = processes.readAll(
                Stream.concat(listed.stream(), found.pids().stream()).toList(),
                interest.attributed(),
                interest.first());
        var ancestors = AncestorReader.read(searched, processFacts);
        var accountFacts = accounts.read(
                interest,
                processFacts.stream()
                        .flatMap(process -> process.uid() instanceof Reading.Value<Long>(var uid)
                                ? Stream.of(uid)
                                : Stream.empty()));
        // Before the state is read: a process that starts meanwhile must not count as older than an environment in it.
        var beforeState = ticks();
        var stateFacts = state.read(check, earlierState);
        var differs = !earlierState.isSame(stateFacts);
        return new HostFacts(
                proc.machine().facts(beforeListing, beforeState),
                access,
                accountFacts,
                programFacts,
                gpuFacts,
                processFacts.subList(0, listed.size()),
                ancestors,
                found.facts(processFacts.subList(listed.size(), processFacts.size())),
                differs ? earlierState : null,
                stateFacts,
                liveness.read(differs ? List.of(earlierState.envs(), stateFacts.envs()) : List.of(stateFacts.envs())),
                check.enforcers(),
                interest.verified().stream()
                        .map(id -> new VerifiedProcess(id.pid(), proc.statBytes(id.pid())))
                        .toList());
    }

    @Override
    public void close() {
        state.close();
    }

    private static long ticks() {
        try {
            return Libc.ticksSinceBoot();
        } catch (IOException e) {
            throw new IllegalStateException("the kernel's clock cannot be read", e);
        }
    }

    @Override
    public Examination examine(List<ProcessId> ids) throws InterruptedException {
        proc.beginObservation();
        return new Examination(programs.read(), signaller.examine(ids));
    }

    @Override
    public void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done) {
        proc.beginObservation();
        signals.forEach(each -> done.accept(each, signaller.send(each)));
        signaller.closeHandles();
    }

    @Override
    public SwapResult swapDevices(String digest, byte[] content) throws InterruptedException {
        signaller.closeHandles();
        return state.swapDevices(digest, content);
    }

    private static final class Signaller {
        private static final SignalResult ABANDONED =
                new SignalResult(Kind.NOT_SENT, "abandoned: the execution took too long");

        private final ProcFs proc;
        private final ProcessReader reader;
        private final NvidiaDevices devices;
        private final Map<ProcessId, Descriptor> handles = new HashMap<>();

        private Signaller(ProcFs proc, ProcessReader reader, NvidiaDevices devices) {
            this.proc = proc;
            this.reader = reader;
            this.devices = devices;
        }

        List<Examined> examine(List<ProcessId> ids) throws InterruptedException {
            closeHandles();
            var withoutHandle = new HashMap<Integer, Reading<Bytes>>();
            for (var id : ids) {
                try {
                    handles.put(id, new Descriptor(Libc.pidfdOpen(id.pid())));
                } catch (Errno e) {
                    withoutHandle.put(
                            id.pid(),
                            Reading.failed(e.is(Errno.ESRCH) ? Failure.ABSENT : Failure.OTHER, Errno.textOf(e)));
                }
            }
            var pids = ids.stream().map(ProcessId::pid).toList();
            var uses = new HashMap<Integer, DeviceUse>();
            // Its files can wait, so they come before what is compared again.
            reader.inTurns(pids, turn -> Map.entry(turn.process(), use(turn)))
                    .forEach(use -> uses.put(use.getKey(), use.getValue()));
            return reader.readAll(pids, Set.copyOf(ids), List.of()).stream()
                    .map(facts -> {
                        var why = withoutHandle.get(facts.pid());
                        return why == null ? facts : ProcessFacts.unread(facts.pid(), why);
                    })
                    .map(facts -> new Examined(facts, Objects.requireNonNull(uses.get(facts.pid())), digest(facts)))
                    .toList();
        }

        private DeviceUse use(Turn<Integer> turn) {
            var pid = turn.process();
            try {
                if (!turn.inTime()) {
                    return new DeviceUse(false, Hangable.NO_TIME);
                }
                var process = proc.candidate(pid);
                return process.isEmpty()
                        ? new DeviceUse(false, "")
                        : proc.guarded(process.get().id(), process.get().uid(), () -> devices.use(pid));
            } catch (IOException e) {
                return new DeviceUse(false, Errno.textOf(e));
            }
        }

        SignalResult send(SignalRequest signal) {
            var handle = handles.get(signal.process());
            var examined = signal.digest();
            var isSame = examined == null
                    || examined.equals(digest(reader.read(signal.process().pid())));
            if (handle == null || Thread.currentThread().isInterrupted()) {
                return ABANDONED; // a later check may have a different result
            }
            if (!isSame) {
                return SignalResult.of(Kind.CHANGED);
            }
            try {
                Libc.pidfdSendSignal(handle.number(), signal.kill() ? Libc.SIGKILL : Libc.SIGTERM);
                return SignalResult.of(Kind.SENT);
            } catch (Errno e) {
                return e.is(Errno.ESRCH)
                        ? SignalResult.of(Kind.GONE)
                        : e.is(Errno.EPERM)
                                ? SignalResult.of(Kind.DENIED)
                                : new SignalResult(Kind.NOT_SENT, String.valueOf(e.getMessage()));
            }
        }

        /** Returns a digest of the process, its real uid, its program, where its environ is and what that names. */
        private static String digest(ProcessFacts facts) {
            var stat = facts.before() instanceof Reading.Value<Bytes>(var bytes)
                    ? ProcStat.tryParse(bytes.text())
                    : Optional.<ProcStat>empty();
            var place = stat;
            var named = List.<Object>of();
            if (facts.environ() instanceof Reading.Value<EnvironFacts>(var now)) {
                named = List.of(Sha256.hex(now.id().array()), now.digest(), now.wellFormed());
                place = now.thread() == null
                        ? stat
                        : ProcStat.tryParse(now.thread().after().text());
            }
            return List.of(
                            facts.pid(),
                            stat.map(now -> List.of(now.startTime(), now.isZombie())),
                            place.map(ProcStat::addresses),
                            facts.uid(),
                            facts.executable(),
                            named)
                    .toString();
        }

        void closeHandles() {
            handles.values().forEach(Descriptor::close);
            handles.clear();
        }
    }
}
