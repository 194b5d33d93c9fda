package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Machine.ObservationRequest;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.linux.Libc;
import dev.genv.enforcer.node.gpu.DeviceHolders;
import dev.genv.enforcer.node.gpu.NvidiaDevices;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.proc.LivenessReader;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessReader;
import dev.genv.enforcer.node.proc.RelationsReader;
import dev.genv.enforcer.node.state.NodeState;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/** The node: the machine that the service runs on. */
public final class NodeMachine implements Machine, Closeable {
    /** For the listed processes, the holders, and signals. */
    private final ProcFs proc;
    /**
     * For searches among all processes, of which users have any number: those that hang here leave the threads of the listed processes
     * free.
     */
    private final ProcFs searched;

    private final AccountFiles accounts;
    private final ProgramFiles programs;
    private final ProcessReader processes;
    private final RelationsReader relations;
    private final LivenessReader liveness;
    private final DeviceHolders holders;
    private final NvidiaSmi gpus;
    private final NodeState state;
    private final Signaller signaller;

    /**
     * Paths on this machine, and time limits.
     *
     * @param proc {@code /proc}, or another directory in tests
     * @param programs the protected programs, in the order of their facts
     */
    public record NodePaths(Path proc, Path stateDirectory, Duration lockTimeout, List<Path> programs) {
        public NodePaths {
            programs = List.copyOf(programs);
        }
    }

    /** @param gpus which this machine then uses alone */
    public NodeMachine(NodePaths paths, NvidiaSmi gpus) {
        this.gpus = gpus;
        proc = new ProcFs(paths.proc());
        searched = new ProcFs(paths.proc());
        accounts = new AccountFiles(proc);
        programs = new ProgramFiles(proc, paths.programs());
        processes = new ProcessReader(proc);
        relations = new RelationsReader(searched, new ProcessReader(searched));
        liveness = new LivenessReader(searched);
        var devices = new NvidiaDevices(paths.proc());
        holders = new DeviceHolders(searched, devices);
        state = new NodeState(paths.stateDirectory(), paths.lockTimeout(), proc);
        signaller = new Signaller(processes, devices);
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
        return access(state.checkDirectory().isWritable());
    }

    @Override
    public HostFacts gather(ObservationRequest interest) throws InterruptedException {
        for (var each : List.of(proc, searched)) {
            each.beginObservation();
            each.setSubordinateUids(interest.subordinateUids());
        }
        var earlierState = state.look();
        var check = state.checkDirectory();
        var access = access(check.isWritable());
        var accountFacts = accounts.read();
        var programFacts = programs.read();
        var beforeListing = ticks();
        if (interest.deviceMemory()) {
            gpus.forgetDevices();
        }
        var gpuFacts = gpus.read();
        // Processes are read before the state, so that the environment of a process that was just started is never
        // missing.
        var listed = NvidiaSmi.listedPids(gpuFacts);
        var unexamined = new HashSet<>(listed);
        unexamined.removeAll(interest.reusedPids());
        var found = interest.deviceHolders()
                ? holders.search(unexamined, interest.subordinateUids())
                : DeviceHolders.Found.NONE;
        var processFacts = relations.read(
                processes.readAll(
                        Stream.concat(listed.stream(), found.pids().stream()).toList(),
                        interest.attributed(),
                        interest.first()),
                interest.settled());
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
                processFacts.processes().subList(0, listed.size()),
                processFacts.related(),
                processFacts.omission(),
                found.facts(processFacts
                        .processes()
                        .subList(listed.size(), processFacts.processes().size())),
                differs ? earlierState : null,
                stateFacts,
                liveness.read(differs ? List.of(earlierState.envs(), stateFacts.envs()) : List.of(stateFacts.envs())),
                check.enforcers(),
                interest.verified().stream()
                        .map(id -> new VerifiedProcess(id.pid(), processes.stat(id.pid())))
                        .toList());
    }

    /** Releases the enforcer lock. */
    @Override
    public void close() throws IOException {
        state.close();
    }

    private AccessFacts access(boolean stateIsWritable) {
        var machine = proc.machine();
        return new AccessFacts(
                (int) ProcessHandle.current().pid(),
                machine.effectiveCapabilities(),
                machine.pidNamespace(),
                machine.securityLabel(),
                stateIsWritable);
    }

    private static long ticks() {
        try {
            return Libc.ticksSinceBoot();
        } catch (IOException e) {
            throw new IllegalStateException("the kernel's clock cannot be read", e);
        }
    }

    @Override
    public void execute(List<Instruction> orders, BiConsumer<Instruction, InstructionResult> done)
            throws InterruptedException {
        proc.beginObservation();
        // Read again, because a program may have been replaced since the check.
        var programFacts = programs.read();
        var detachments = new ArrayList<Instruction.Detach>();
        for (var order : orders) {
            switch (order) {
                case Instruction.Terminate terminate ->
                    done.accept(
                            terminate, new InstructionResult.Finished(signaller.terminate(terminate, programFacts)));
                case Instruction.Detach detach -> detachments.add(detach);
            }
        }
        if (!detachments.isEmpty()) {
            var replies = state.detach(
                    detachments.stream().map(Instruction.Detach::attachment).toList());
            for (var i = 0; i < replies.size(); i++) {
                done.accept(detachments.get(i), replies.get(i));
            }
        }
    }
}
