package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.enforcement.machine.ObservedHost;
import dev.genv.enforcer.facts.AccessFacts;
import dev.genv.enforcer.facts.AccountFacts;
import dev.genv.enforcer.facts.AccountFacts.TextFile;
import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.EnforcerFacts;
import dev.genv.enforcer.facts.FileId;
import dev.genv.enforcer.facts.HostFacts;
import dev.genv.enforcer.facts.LivenessFacts;
import dev.genv.enforcer.facts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.facts.LockFacts;
import dev.genv.enforcer.facts.MachineFacts;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.ProcessFacts.ExecutableFacts;
import dev.genv.enforcer.facts.ProgramFile;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.facts.StateFacts;
import dev.genv.enforcer.facts.StateFacts.Directory;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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
final class DescribedMachine {
    static final long ALICE = 1003;
    static final long BOB = 1004;
    static final Duration LOCK_LIMIT = Duration.ofMillis(100);

    final FakeProc proc;
    final Path state;
    final List<ProtectedExecutable> programs = new ArrayList<>();
    final List<String> exempt = new ArrayList<>();
    final Map<Integer, Reading<Long>> uids = new HashMap<>();
    final Map<Integer, Reading<EnvironFacts>> environs = new HashMap<>();
    final Map<Integer, Reading<ExecutableFacts>> executables = new HashMap<>();
    final Map<String, Reading<ProgramFile>> programFiles = new HashMap<>();
    /** The processes to which listed ones are related that have overwritten their environs. */
    final List<Integer> related = new ArrayList<>();

    final Map<String, StateFile> files = new HashMap<>();
    LivenessFacts.Kernels kernels = LivenessFacts.Kernels.NONE;
    LockFacts lock = new LockFacts(LockFacts.Outcome.HELD, "", LOCK_LIMIT, Duration.ZERO, List.of());

    @Nullable
    Directory directory;

    AccessFacts access;
    boolean requireHostPid;

    private final DescribedTool tool;
    private final Map<Integer, FakeProc.FakeProcess> processes = new TreeMap<>();
    private final Path etc;

    DescribedMachine(Path folder) throws IOException {
        proc = new FakeProc(folder.resolve("proc"));
        state = Files.createDirectory(folder.resolve("genv"));
        tool = new DescribedTool(folder.resolve("bin"));
        etc = Files.createDirectories(proc.hostRoot().resolve("etc"));
        Files.writeString(etc.resolve("passwd"), "root:x:0:0:::\nalice:x:1003:1:::\nbob:x:1004:1:::\n");
        Files.writeString(etc.resolve("subuid"), "alice:100000:65536\n");
        access = new AccessFacts(0, 0, "", "", true);
        access(0x1ff_ffff_ffffL, "pid:[4026531836]", "unconfined");
        listProcesses("GPU-0, 812, 1542\n", 0);
        listDevices("0, GPU-0, 16384\n1, GPU-1, 16384\n", 0);
        process(812, ALICE, "GENV_ENVIRONMENT_ID=a");
        envs(StateJson.env("a", ALICE, "alice", "812"));
        devices(StateJson.device(0, "a"), StateJson.device(1));
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

    void access(long capabilities, String namespace, String label) throws IOException {
        proc.writeSelf("%016x".formatted(capabilities), label);
        proc.pidNamespace(Long.parseLong(namespace.replaceAll("[^0-9]", "")));
        access = new AccessFacts((int) ProcessHandle.current().pid(), capabilities, namespace, label, true);
    }

    void passwd(String content) throws IOException {
        Files.writeString(etc.resolve("passwd"), content);
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
        var id = "";
        for (var entry : environ) {
            id = entry.startsWith("GENV_ENVIRONMENT_ID=") ? entry.substring(20) : id;
        }
        var size = Arrays.stream(environ).mapToInt(entry -> entry.length() + 1).sum();
        environs.put(pid, Reading.of(new EnvironFacts(size, Bytes.of(id.getBytes(StandardCharsets.UTF_8)), "", true)));
        return process;
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
        programFiles.put(path, Reading.of(new ProgramFile(id(path), String.valueOf(file.getFileName()), 1)));
        return file;
    }

    static FileId id(String path) {
        return new FileId(1, path.hashCode());
    }

    void runs(int pid, Path program, Reading<FileId> file) throws IOException {
        Objects.requireNonNull(processes.get(pid)).exe(program);
        executables.put(pid, Reading.of(new ExecutableFacts(String.valueOf(program.getFileName()), file)));
    }

    private NodeBuilder node() {
        var builder = new NodeBuilder(state, tool.path())
                .proc(proc.root())
                .lockTimeout(LOCK_LIMIT)
                .programs(programs.toArray(ProtectedExecutable[]::new))
                .exempt(exempt.toArray(String[]::new));
        return requireHostPid ? builder.requireHostPid() : builder;
    }

    ObserverSettings settings() {
        return node().settings();
    }

    ObservedHost host() {
        return node().host();
    }

    HostFacts facts() throws IOException {
        var listed = new ArrayList<ProcessFacts>();
        for (var pid : tool.pids()) {
            listed.add(process(pid));
        }
        var relatives = new ArrayList<ProcessFacts>();
        for (var pid : related) {
            relatives.add(process(pid));
        }
        var live = new ArrayList<LiveProcess>();
        for (var pid : processes.keySet()) {
            live.add(new LiveProcess(pid, uids.get(pid) instanceof Reading.Value<Long>(var uid) ? uid : null, null));
        }
        return new HostFacts(
                new MachineFacts("", "", "", 1_000_000_000L, 1_000_000_000L),
                access,
                new AccountFacts(text("passwd"), text("subuid")),
                settings().programs().stream()
                        .map(program -> programFiles.getOrDefault(
                                program.path().toString(), Reading.failed(Failure.ABSENT, "")))
                        .toList(),
                tool.facts(),
                listed,
                relatives,
                true,
                directory == null
                        ? present()
                        : new StateFacts(
                                directory,
                                LockFacts.NOT_ATTEMPTED,
                                new StateFile.Absent(),
                                new StateFile.Absent(),
                                null),
                new LivenessFacts(Reading.of(live), kernels),
                EnforcerFacts.NONE,
                List.of());
    }

    private StateFacts present() throws IOException {
        var inode = (long) Files.getAttribute(state, "unix:ino");
        return new StateFacts(
                new Directory.Present(new FileId(1, inode), 1),
                lock,
                files.get("envs.json"),
                files.get("devices.json"),
                5L);
    }

    private Reading<TextFile> text(String name) throws IOException {
        var bytes = Files.readAllBytes(etc.resolve(name));
        return Reading.of(new TextFile(Integer.toString(Arrays.hashCode(bytes)), Bytes.of(bytes)));
    }

    private ProcessFacts process(int pid) throws IOException {
        var stat = stat(pid);
        var noProgram =
                new NoSuchFileException(proc.root().resolve(pid + "/task").toString());
        var facts = new ProcessFacts(
                pid,
                stat,
                uids.getOrDefault(pid, Reading.failed(Failure.ABSENT, "")),
                environs.getOrDefault(pid, Reading.failed(Failure.ABSENT, "")),
                executables.getOrDefault(pid, Reading.failed(Failure.ABSENT, noProgram.toString())),
                stat);
        return related.isEmpty() ? facts : DescribedRelations.of(facts, processes.get(pid));
    }

    private Reading<Bytes> stat(int pid) throws IOException {
        var process = processes.get(pid);
        return process == null
                ? Reading.failed(Failure.ABSENT, "")
                : Reading.of(Bytes.of(Files.readAllBytes(process.file("stat"))));
    }
}
