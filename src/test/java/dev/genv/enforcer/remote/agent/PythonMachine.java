package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.agent.LocalPython.PythonProcess;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/**
 * A machine with the agent in this machine's Python. Its state and its GPUs are in a folder; its processes are real ones unless a test uses
 * fake ones. A test observes it as the service does, or runs the program with a request that it changes.
 */
final class PythonMachine {
    static final String BOOT = "c0d43b84-5d58-44cb-8d64-fe40f0a9661f";
    static final String PYTHON = AgentProgram.PYTHON;
    static final String NONCE = "0123456789abcdef";
    static final AgentProgram PROGRAM = AgentProgram.withIdleTime(LocalPython.TIMEOUT.multipliedBy(5));
    /** The program without the line that calls it. */
    static final String FUNCTIONS = PROGRAM.text().substring(0, PROGRAM.text().lastIndexOf("serve("));

    private static final String EVERYTHING = "000001ffffffffff";
    private static final long FIRST_PID_NAMESPACE = 4026531836L;
    private static final ObjectMapper MAPPER = new ObjectMapper();

    final Path state;
    final Path etc;
    final Path run;
    final FakeNvidiaSmi nvidiaSmi;
    final LocalPython python = new LocalPython();
    final AtomicLong nanos = new AtomicLong();
    String service = "one";
    boolean sudo;
    private String proc = "/proc";

    /** At first that of an observation, as the service sends it, with the boot and the deadline of actions. */
    final ObjectNode request;

    List<String> command = List.of(PYTHON, "-I", "-S", "-W", "error", "-");

    PythonMachine(Path folder) throws IOException {
        state = Files.createDirectory(folder.resolve("genv"));
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
        etc = Files.createDirectory(folder.resolve("etc"));
        Files.writeString(etc.resolve("machine-id"), "0123456789abcdef0123456789abcdef\n");
        // The user who runs the tests may have no account on this machine.
        var passwd = Files.readString(Path.of("/etc/passwd"));
        var me = CurrentProcess.name() + ":x:" + CurrentProcess.uid() + ":";
        Files.writeString(etc.resolve("passwd"), passwd.contains(me) ? passwd : me + "0::/:/bin/sh\n" + passwd);
        run = folder.resolve("run");
        nvidiaSmi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        request = firstRequest()
                .put("nonce", NONCE)
                .put("deadline", Long.MAX_VALUE)
                .put(
                        "boot",
                        Files.readString(Path.of("/proc/sys/kernel/random/boot_id"))
                                .strip());
        request.putArray("programs");
    }

    private ObjectNode firstRequest() {
        var sent = new ArrayList<Connection.ProgramRequest>();
        assertThatThrownBy(() -> agent().observe(request -> {
                    sent.add(request);
                    throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "");
                }))
                .isInstanceOf(UnreachableException.class);
        return (ObjectNode) request(sent.getFirst());
    }

    /** A fake {@code /proc}, of root on a machine that has been up for an hour. */
    FakeProc useFakeProc() throws IOException {
        var root = state.resolveSibling("proc");
        proc = root.toString();
        request.put("proc", proc).put("boot", BOOT);
        var fake = new FakeProc(Files.createDirectories(root));
        fake.writeSelf(EVERYTHING, "");
        fake.pidNamespace(FIRST_PID_NAMESPACE);
        fake.writeUptime(3600);
        var random = Files.createDirectories(root.resolve("sys/kernel/random"));
        Files.writeString(random.resolve("boot_id"), BOOT + "\n");
        Files.writeString(root.resolve("locks"), "");
        return fake;
    }

    /** Has the GPU tool list processes that are not there for the kernel. */
    void setGpuProcesses(int... pids) throws IOException {
        var lines = Arrays.stream(pids)
                .mapToObj(pid -> "%s, %d, 1\n".formatted(FakeNvidiaSmi.uuid(0), pid))
                .collect(Collectors.joining());
        nvidiaSmi.fault("case $1 in *compute*) printf '%%s' '%s'; exit 0 ;; esac".formatted(lines));
    }

    /** A process in an environment that is attached to the first of two devices, and genv's lock. */
    void writeOneEnvironment(Child child) throws IOException {
        files().ownEnv("15971", null, child.pid()).device(0, "15971").device(1).write();
        Files.createFile(state.resolve("genv.lock"));
    }

    StateFiles files() {
        return new StateFiles(state);
    }

    AgentHost agent() {
        return new AgentHost();
    }

    Snapshot observe(ProcessId... pending) throws UnreachableException, InterruptedException {
        return agent().observe(pending);
    }

    static JsonNode request(Connection.ProgramRequest request) {
        var line = request.line();
        try {
            return MAPPER.readTree(line.substring(0, line.lastIndexOf(' ')));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the output of an agent that gives this answer. */
    static String answer(Connection.ProgramRequest request, Answer answer) {
        var json = AgentJson.write(answer);
        var nonce = request(request).path("nonce").textValue();
        return "@%s %s %s\n".formatted(nonce, new String(json, UTF_8), AgentOutput.checksum(json));
    }

    ObjectNode gpu() {
        return request.withObject("/gpu");
    }

    /** What the observation leaves out. */
    ObjectNode omitted() {
        return request.withObject("/omitted");
    }

    /** The program with a line that answers one request. */
    String input(String function) {
        return "%sos.umask(0o077)\nos.chdir('/')\nrespond(%s)\n".formatted(FUNCTIONS, json(function));
    }

    /** The program with a line that sends SIGTERM to a process. */
    String signalInput(int pid) throws IOException {
        orderSignal(pid);
        return input("signal");
    }

    /** Adds to the request that SIGTERM is sent to a process. */
    void orderSignal(int pid) throws IOException {
        var stat = Path.of(proc, Integer.toString(pid), "stat");
        orderSignal(pid, ProcStat.parse(Files.readAllBytes(stat)).startTime());
    }

    void orderSignal(int pid, long startTime) {
        request.putArray("signals")
                .addObject()
                .put("kill", false)
                .putObject("process")
                .put("pid", pid)
                .put("startTime", startTime);
    }

    /** The program with a line that replaces devices.json, which has this content, by another one. */
    String swapInput(String old, String other) {
        request.put("digest", Sha256.hex(old.getBytes(UTF_8)))
                .put("content", Base64.getEncoder().encodeToString(other.getBytes(UTF_8)));
        return input("swapDevices");
    }

    private String json(String function) {
        var json = request.put("do", function).toString().getBytes(UTF_8);
        return "binascii.a2b_base64('%s')".formatted(Base64.getEncoder().encodeToString(json));
    }

    /** The line of a request to a running agent. */
    String line(String function) {
        return AgentProgram.line(request.put("do", function).toString().getBytes(UTF_8));
    }

    /** Observes, and returns the facts. */
    JsonNode facts() throws IOException, InterruptedException {
        return facts(input("observe"));
    }

    JsonNode facts(String input) throws IOException, InterruptedException {
        var answer = run(input).answer();
        if (!answer.has("facts")) {
            throw new IOException(answer.toString());
        }
        return answer.get("facts");
    }

    /** Sends SIGTERM to a process, and returns the kind of the result. */
    String signal(int pid) throws IOException, InterruptedException {
        return signal(signalInput(pid));
    }

    String signal(String input) throws IOException, InterruptedException {
        return run(input).answer().at("/signals/0/result/kind").asText();
    }

    /** Replaces devices.json, which has this content, by another one. */
    JsonNode swapDevices(String old, String other) throws IOException, InterruptedException {
        return run(swapInput(old, other)).answer();
    }

    Output run(String input) throws IOException, InterruptedException {
        try (var process = new PythonProcess(command)) {
            process.write(input);
            if (!process.end(LocalPython.TIMEOUT)) {
                throw new IOException("it did not exit");
            }
            return new Output(process.process.exitValue(), process.printed(), process.errors());
        }
    }

    /** Sends the line of a request to a running agent, and returns its answer. */
    static JsonNode answer(PythonProcess agent, String line) throws IOException, InterruptedException {
        var printed = agent.answer(line, AgentOutput.mark(NONCE), LocalPython.TIMEOUT);
        if (printed == null) {
            throw new IOException("there is no answer: " + agent.errors());
        }
        return new Output(0, printed, "").answer();
    }

    /**
     * The output of a run.
     *
     * @param exitCode of Python
     * @param text everything that was printed, one char for each byte
     */
    record Output(int exitCode, String text, String errors) {
        AgentOutput parsed() throws IOException {
            try {
                return AgentOutput.parse(text, NONCE);
            } catch (UnreachableException e) {
                throw new IOException(e);
            }
        }

        JsonNode answer() throws IOException {
            var json = parsed().json();
            if (json == null) {
                throw new IOException("there is no answer: " + errors);
            }
            return MAPPER.readTree(json.array());
        }
    }

    /** The answers of an agent. */
    interface Answering {
        Connection.CommandResult request(Connection.ProgramRequest request)
                throws UnreachableException, InterruptedException;
    }

    /** The host as the service sees it, whose requests each call can have answered otherwise. */
    final class AgentHost implements Connection {
        private final ObservedHost host;
        private Answering answering = python::request;
        /** How often the program was to be ended. */
        int stops;

        private AgentHost() {
            var settings = new NodeBuilder(state, nvidiaSmi.path()).settings();
            var config = new AgentConfig(
                    state.toString(),
                    Duration.ofSeconds(30),
                    nvidiaSmi.path().toString(),
                    Duration.ofSeconds(30),
                    LocalPython.TIMEOUT,
                    sudo,
                    settings.programs().stream()
                            .map(program -> program.path().toString())
                            .toList(),
                    true,
                    Duration.ofHours(1));
            var places = new AgentCommand.Places(proc, etc.toString(), run.toString());
            var agentCommand = new AgentCommand(config, places, service, new SecureRandom());
            host = new ObservedHost(settings, new AgentMachine("gpu-1", this, config, agentCommand, nanos::get));
        }

        @Override
        public CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
            return answering.request(request);
        }

        @Override
        public void stop() {
            stops++;
        }

        @Override
        public void close() {}

        Snapshot observe(ProcessId... verified) throws UnreachableException, InterruptedException {
            return host.observe(Set.of(verified));
        }

        Snapshot observe(Answering other) throws UnreachableException, InterruptedException {
            answering = other;
            return observe();
        }

        void execute(Answering other, List<Action> actions, BiConsumer<Action, Result> done)
                throws UnreachableException, InterruptedException {
            answering = other;
            host.execute(actions, done);
        }
    }
}
