package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.AccessFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.remote.agent.LocalPython;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A machine that is described once and shown in two forms: as files for an adapter, and as the facts that every adapter must deliver for
 * them. At first, process 812 of alice in environment a uses device 0, which is attached to a; device 1 is free.
 */
final class DescribedMachine implements AutoCloseable {
    static final long ALICE = 1003;
    static final long BOB = 1004;
    /** An account of this machine's name service that is not in the passwd of the described machine. */
    static final String NAMED = named()[0];

    static final long NAMED_UID = Long.parseLong(named()[2]);
    /** In seconds; every process was started before. */
    static final long UPTIME = 10_000_000;

    /** The time of the observation in the facts, in clock ticks. */
    long ticks = 100 * UPTIME;

    static final Duration LOCK_LIMIT = Duration.ofMillis(250);

    final FakeProc proc;
    final Path state;
    final List<ProtectedExecutable> programs = new ArrayList<>();
    final List<String> exempt = new ArrayList<>();
    final Map<Integer, Reading<Long>> uids = new HashMap<>();
    final Map<Integer, Reading<EnvironFacts>> environs = new HashMap<>();
    final Map<Integer, Reading<ProgramFile>> executables = new HashMap<>();
    final Map<String, Reading<ProgramFile>> programFiles = new HashMap<>();
    /** The processes to which listed ones are related that have overwritten their environs. */
    final List<Integer> related = new ArrayList<>();

    final Map<String, StateFile> files = new HashMap<>();
    /** What the driver says of each GPU. */
    final List<Bytes> drivenGpus = new ArrayList<>();
    /** The processes that hold a device file without being listed. */
    final List<Integer> holders = new ArrayList<>();

    LivenessFacts.Kernels kernels = LivenessFacts.Kernels.NONE;
    LockFacts lock = new LockFacts(LockFacts.Outcome.HELD, "", LOCK_LIMIT, Duration.ZERO, List.of());

    @Nullable
    Directory directory;

    /** What the name service of the machine answers, for which every adapter asks that of this machine. */
    private Reading<Bytes> named = Reading.failed(Failure.ABSENT, "");

    AccessFacts access;
    boolean requireHostPid;

    final DescribedTool tool;
    /** Closed after the observation. */
    final List<Closeable> open = new ArrayList<>();

    final Map<Integer, FakeProc.FakeProcess> processes = new TreeMap<>();
    final Path etc;

    DescribedMachine(Path folder) throws IOException {
        proc = new FakeProc(folder.resolve("proc"));
        state = Files.createDirectory(folder.resolve("genv"));
        tool = new DescribedTool(folder.resolve("bin"));
        etc = Files.createDirectories(proc.hostRoot().resolve("etc"));
        Files.writeString(etc.resolve("passwd"), "root:x:0:0:::\nalice:x:1003:1:::\nbob:x:1004:1:::\n");
        Files.writeString(etc.resolve("subuid"), "alice:100000:65536\n");
        proc.writeUptime(UPTIME);
        access = new AccessFacts(0, 0, "", "", true);
        access(0x1ff_ffff_ffffL, "pid:[4026531836]", "unconfined");
        listProcesses("GPU-0, 812, 1542\n", 0);
        listDevices("0, GPU-0, 16384\n1, GPU-1, 16384\n", 0);
        process(812, ALICE, "GENV_ENVIRONMENT_ID=a");
        envs(env("a", ALICE, "alice", "812"));
        devices(device(0, "a"), device(1));
    }

    void envs(String... entries) throws IOException {
        file("envs.json", "{\"envs\": [%s]}".formatted(String.join(", ", entries)));
    }

    void devices(String... entries) throws IOException {
        file("devices.json", "{\"devices\": [%s]}".formatted(String.join(", ", entries)));
    }

    void file(String name, String content) throws IOException {
        Files.writeString(state.resolve(name), content);
        files.put(name, new StateFile.Present(Bytes.of(content.getBytes(StandardCharsets.UTF_8))));
    }

    void noFile(String name) throws IOException {
        Files.delete(state.resolve(name));
        files.put(name, new StateFile.Absent());
    }

    /** Has a process hold genv's lock. */
    void holdLock(int pid, long uid) throws IOException {
        var holder = process(pid, uid).file("stat");
        var file = state.resolve("genv.lock");
        open.add(RealFlock.take(file));
        var inode = Files.getAttribute(file, "unix:ino");
        Files.writeString(
                proc.root().resolve("locks"), "1: FLOCK  ADVISORY  WRITE %d fe:00:%s 0 EOF\n".formatted(pid, inode));
        lock = new LockFacts(
                LockFacts.Outcome.TIMEOUT,
                "",
                LOCK_LIMIT,
                LOCK_LIMIT,
                List.of(new LockFacts.Holder(pid, Bytes.of(Files.readAllBytes(holder)), uid)));
    }

    void access(long capabilities, String namespace, String label) throws IOException {
        proc.writeSelf("%016x".formatted(capabilities), label);
        proc.pidNamespace(Long.parseLong(namespace.replaceAll("[^0-9]", "")));
        access = new AccessFacts((int) ProcessHandle.current().pid(), capabilities, namespace, label, true);
    }

    void passwd(String content) throws IOException {
        Files.writeString(etc.resolve("passwd"), content);
    }

    /** Has the service run on the host. The name service finds this machine's accounts, and the test knows one of them. */
    void nameService() throws IOException {
        Files.createSymbolicLink(proc.root().resolve("self/root"), proc.hostRoot());
        var line = "%s:x:%d:1:::\n".formatted(NAMED, NAMED_UID);
        named = Reading.of(Bytes.of(line.getBytes(StandardCharsets.UTF_8)));
    }

    /** Returns the first account of this machine that is not root's. */
    private static String[] named() {
        try (var lines = Files.lines(Path.of("/etc/passwd"))) {
            return lines.map(line -> line.split(":", -1))
                    .filter(fields -> !fields[2].equals("0"))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void listProcesses(String lines, int exitCode) throws IOException {
        tool.answer(DescribedTool.PROCESSES, lines, exitCode);
    }

    void listDevices(String lines, int exitCode) throws IOException {
        tool.answer(DescribedTool.DEVICES, lines, exitCode);
    }

    FakeProc.FakeProcess process(int pid, long uid, String... environ) throws IOException {
        var process = proc.process(pid).uid(uid).environ(environ);
        processes.put(pid, process);
        uids.put(pid, Reading.of(uid));
        environs.put(pid, Reading.of(environFacts(environ)));
        return process;
    }

    /** What must be read of an environ. */
    void environ(int pid, long size, String id, boolean wellFormed) {
        var value = Bytes.of(id.getBytes(StandardCharsets.UTF_8));
        environs.put(pid, Reading.of(new EnvironFacts(size, value, "", wellFormed, Bytes.EMPTY)));
    }

    /** Loads a driver, for which {@code /dev/zero} is the device file of this GPU. */
    void driver(String uuid) throws IOException {
        DeviceFileHolder.write(proc.root(), uuid);
        var information = "GPU UUID: \t %s\nDevice Minor: \t %d\n".formatted(uuid, DeviceFileHolder.MINOR);
        drivenGpus.add(Bytes.of(information.getBytes(StandardCharsets.UTF_8)));
    }

    /** Has a process hold that device file. */
    void holdsGpu(int pid) throws IOException {
        Files.createSymbolicLink(
                Files.createDirectory(proc.root().resolve(pid + "/fd")).resolve("3"), DeviceFileHolder.FILE);
        holders.add(pid);
    }

    void noProcess(int pid) throws IOException {
        processes.remove(pid);
        var folder = proc.root().resolve(Integer.toString(pid));
        Files.move(folder, folder.resolveSibling("exited"));
    }

    /** A file of root's on the host. */
    Path program(String path) throws IOException {
        var file = proc.hostRoot().resolve(path.substring(1));
        Files.createDirectories(file.getParent());
        Files.writeString(file, path);
        return file;
    }

    /** A protected program. */
    Path protect(String path, String user) throws IOException {
        var file = program(path);
        programs.add(new ProtectedExecutable(Path.of(path), user));
        programFiles.put(path, Reading.of(file(path)));
        return file;
    }

    /** Replaces a program, and returns the old file. */
    Path replace(String path) throws IOException {
        var file = proc.hostRoot().resolve(path.substring(1));
        var old = Files.move(file, file.resolveSibling("old"));
        Files.writeString(file, "new");
        programFiles.put(path, Reading.of(file("new" + path)));
        return old;
    }

    static ProgramFile file(String path) {
        return new ProgramFile(new FileId(1, path.hashCode()), 1);
    }

    void runs(int pid, Path program, Reading<ProgramFile> file) throws IOException {
        Objects.requireNonNull(processes.get(pid)).exe(program);
        executables.put(pid, file);
    }

    private NodeBuilder node() {
        var builder = new NodeBuilder(state, tool.path())
                .proc(proc.root())
                .lockTimeout(LOCK_LIMIT)
                .programs(programs.toArray(ProtectedExecutable[]::new))
                .exempt(exempt.toArray(String[]::new));
        return requireHostPid ? builder.requireHostPid() : builder;
    }

    /** The facts that every adapter must deliver. */
    HostFacts facts() throws IOException {
        var live = new ArrayList<LiveProcess>();
        for (var pid : processes.keySet()) {
            live.add(new LiveProcess(pid, uids.get(pid) instanceof Reading.Value<Long>(var uid) ? uid : null));
        }
        return new HostFacts(
                new MachineFacts("", "", "", ticks, ticks),
                access,
                new AccountFacts(text("passwd"), text("subuid"), named),
                settings().programs().stream()
                        .map(program -> programFiles.getOrDefault(
                                program.path().toString(), Reading.failed(Failure.ABSENT, "")))
                        .toList(),
                tool.facts(),
                processFacts(tool.pids()),
                processFacts(related),
                RelatedOmission.NONE,
                holderFacts(),
                null,
                stateFacts(),
                new LivenessFacts(Reading.of(live), kernels),
                EnforcerFacts.NONE,
                List.of());
    }

    private List<ProcessFacts> processFacts(List<Integer> pids) throws IOException {
        var facts = new ArrayList<ProcessFacts>();
        for (var pid : pids) {
            facts.add(processFacts(pid));
        }
        return facts;
    }

    private HolderFacts holderFacts() throws IOException {
        var facts = new ArrayList<HolderFacts.Holder>();
        for (var pid : holders) {
            facts.add(new HolderFacts.Holder(processFacts(pid), List.of(DeviceFileHolder.MINOR), List.of()));
        }
        return new HolderFacts(drivenGpus, facts, "");
    }

    private StateFacts stateFacts() throws IOException {
        if (directory != null) {
            return new StateFacts(directory, LockFacts.NOT_ATTEMPTED, new StateFile.Absent(), new StateFile.Absent());
        }
        var inode = (long) Files.getAttribute(state, "unix:ino");
        return new StateFacts(
                new Directory.Present(new FileId(1, inode), 1),
                lock,
                files.get("envs.json"),
                files.get("devices.json"));
    }

    private Reading<TextFile> text(String name) throws IOException {
        var bytes = Files.readAllBytes(etc.resolve(name));
        return Reading.of(new TextFile(Integer.toString(Arrays.hashCode(bytes)), Bytes.of(bytes)));
    }

    private ProcessFacts processFacts(int pid) throws IOException {
        var stat = procFile(pid, "stat");
        return new ProcessFacts(
                pid,
                stat,
                uids.getOrDefault(pid, Reading.failed(Failure.ABSENT, "")),
                environs.getOrDefault(pid, Reading.failed(Failure.ABSENT, "")),
                executables.getOrDefault(pid, Reading.failed(Failure.ABSENT, "No such file or directory")),
                procFile(pid, "cgroup"),
                related.isEmpty() || !processes.containsKey(pid)
                        ? ProcessFacts.skipped()
                        : Reading.of(Bytes.of(Integer.toString(pid).getBytes(StandardCharsets.US_ASCII))),
                stat);
    }

    private Reading<Bytes> procFile(int pid, String name) throws IOException {
        var process = processes.get(pid);
        return process == null
                ? Reading.failed(Failure.ABSENT, "")
                : Reading.of(Bytes.of(Files.readAllBytes(process.file(name))));
    }

    ObserverSettings settings() {
        return node().settings();
    }

    ObservedHost host() {
        return node().host();
    }

    /** The same machine with the agent. The agent's root is that of this machine's processes, so it is told the whole paths. */
    ObservedHost agentHost() throws IOException {
        var root = proc.hostRoot();
        var paths = settings().programs().stream()
                .map(program -> root + program.path().toString())
                .toList();
        var run = root.resolve("run");
        return new ObservedHost(
                settings(), LocalPython.machine(proc.root(), etc, run, state, tool.path(), LOCK_LIMIT, paths));
    }

    @Override
    public void close() throws IOException {
        for (var each : open) {
            each.close();
        }
    }

    private static EnvironFacts environFacts(String... entries) {
        var size = Arrays.stream(entries).mapToInt(entry -> entry.length() + 1).sum();
        return new EnvironFacts(size, last("GENV_ENVIRONMENT_ID=", entries), "", true, last("SLURM_JOB_ID=", entries));
    }

    private static Bytes last(String variable, String... entries) {
        var value = List.of(entries).reversed().stream()
                .filter(entry -> entry.startsWith(variable))
                .map(entry -> entry.substring(variable.length()))
                .findFirst()
                .orElse("");
        return Bytes.of(value.getBytes(StandardCharsets.UTF_8));
    }

    static String env(String eid, long uid, String user, String pids, String... kernels) {
        return "{\"eid\": \"%s\", \"uid\": %d, \"username\": \"%s\", \"creation\": \"\", \"config\": {}, \"pids\": [%s], \"kernel_ids\": [%s]}"
                .formatted(eid, uid, user, pids, String.join(", ", kernels));
    }

    static String device(int index, String... eids) {
        var attachments = new ArrayList<String>();
        for (var eid : eids) {
            attachments.add("{\"eid\": \"%s\", \"gpu_memory\": null, \"time\": null}".formatted(eid));
        }
        return "{\"index\": %d, \"total_memory\": \"1mi\", \"attachments\": [%s]}"
                .formatted(index, String.join(", ", attachments));
    }
}
