package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Machine.ObservationRequest;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.HostFacts.VerifiedProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileTree;
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
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
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
    private final ProcFs proc;
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
        var searched = proc.forSearches();
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
        return proc.machine().access(state.checkDirectory().isWritable());
    }

    @Override
    public HostFacts gather(ObservationRequest interest) throws InterruptedException {
        proc.beginObservation();
        proc.setSubordinateUids(interest.subordinateUids());
        var earlierState = state.look();
        var check = state.checkDirectory();
        var access = proc.machine().access(check.isWritable());
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
        var found = interest.deviceHolders() ? holders.search(unexamined) : DeviceHolders.Found.NONE;
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

    /**
     * The default name of the node: the host name of its machine. A container has its own host name, which changes with each new
     * container.
     */
    public static final class NodeName {
        private static final Path FILE = Path.of("/etc/hostname");
        /** The largest size of the file in bytes; a host name has at most 64. */
        private static final int LONGEST = 4096;

        private NodeName() {}

        /** Returns the name for this directory of processes, such as {@code /proc}. */
        public static String of(Path proc) {
            try {
                if (!namespace(proc, "self").equals(namespace(proc, "1"))) {
                    var name = ofMachine(new FileTree(proc.resolve("1/root")));
                    if (!name.isEmpty()) {
                        return name;
                    }
                }
            } catch (IOException e) {
                // The service's own host name is used instead.
            }
            try {
                return Files.readString(proc.resolve("sys/kernel/hostname")).strip();
            } catch (IOException e) {
                return InetAddress.getLoopbackAddress().getHostName();
            }
        }

        private static Path namespace(Path proc, String process) throws IOException {
            return Files.readSymbolicLink(proc.resolve(process).resolve("ns/uts"));
        }

        private static String ofMachine(FileTree files) throws IOException {
            try (var stream = Files.newInputStream(files.follow(FILE, FileTree.Inspection.NONE))) {
                // As in hostname(5): a name, possibly after comments.
                return new String(stream.readNBytes(LONGEST), StandardCharsets.US_ASCII)
                        .lines()
                        .map(String::strip)
                        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                        .findFirst()
                        .filter(name -> !name.startsWith("localhost")) // the default name of every machine
                        .orElse("");
            }
        }
    }

    /** Signals processes, each only if its identity has not changed. */
    record Signaller(ProcessReader reader, NvidiaDevices devices) {
        private static final int NO_SIGNAL = 0;

        private static final Result WITHOUT_DEVICE = Result.failed(
                "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");

        /** Sends the signal through a pidfd that was opened before the process was checked again. */
        Result terminate(Instruction.Terminate order, List<Reading<ProgramFile>> programs) {
            var pid = order.process().pid();
            if (pid <= 0) {
                return new Result(Outcome.SKIPPED_PROTECTED, "this pid is not a process");
            }
            try (var descriptor = new Descriptor(Libc.pidfdOpen(pid))) {
                // It can wait, so it comes before the last check.
                var withoutDevice = deviceRefusal(order);
                var now = reader.read(pid);
                if (Thread.currentThread().isInterrupted()) {
                    return Result.failed(
                            "abandoned: the execution took too long"); // a later check may have a different result
                }
                var refusal = order.check().refusal(now, programs);
                if (refusal.isPresent()) {
                    return refusal.get();
                }
                if (withoutDevice.isPresent()) {
                    Libc.pidfdSendSignal(descriptor.number(), NO_SIGNAL); // fails if the process has exited meanwhile
                    return withoutDevice.get();
                }
                Libc.pidfdSendSignal(descriptor.number(), order.kill() ? Libc.SIGKILL : Libc.SIGTERM);
                return Result.of(Outcome.SIGNALLED);
            } catch (Errno e) {
                return failed(e);
            } catch (IOException e) {
                return Result.failed(String.valueOf(e.getMessage()));
            }
        }

        private static Result failed(Errno e) {
            if (e.is(Errno.ESRCH)) {
                return Result.of(Outcome.ALREADY_GONE);
            }
            return e.is(Errno.EPERM)
                    ? new Result(Outcome.DENIED, "needs the capability CAP_KILL")
                    : Result.failed(String.valueOf(e.getMessage()));
        }

        /**
         * Returns why a process is not terminated; empty if it uses a device file of the driver: a listed pid can belong to a process that
         * was started after the listed one has exited. The call can take a second.
         */
        private Optional<Result> deviceRefusal(Instruction.Terminate order) {
            try {
                // Without device files nothing can be checked. A process can close a file that it maps.
                var open = devices.areUsed() ? devices.open(order.process().pid()) : null;
                if (open == null || open.isProven()) {
                    return Optional.empty();
                }
                var uid = order.expected().uid();
                var mapped = uid == null
                        ? new NvidiaDevices.Use(false, "its uid is unknown")
                        : reader.proc()
                                .guarded(
                                        order.process(),
                                        uid,
                                        () -> devices.mapped(order.process().pid()));
                if (mapped.isProven()) {
                    return Optional.empty();
                }
                var unexamined = open.unexamined().isEmpty() ? mapped.unexamined() : open.unexamined();
                return Optional.of(unexamined.isEmpty() ? WITHOUT_DEVICE : unexamined(unexamined));
            } catch (IOException e) {
                return Optional.of(unexamined(Errno.textOf(e)));
            }
        }

        private static Result unexamined(String reason) {
            return Result.failed(
                    "it is listed, but its open files cannot be examined, so it is not terminated: " + reason);
        }
    }
}
