package dev.genv.enforcer.remote.agent.python;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.remote.agent.AgentOutput;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Runs the agent's program in this machine's Python. Its state and its GPUs are in a folder; its processes are real or fake ones. */
public final class PythonMachine {
    public static final String PYTHON = "/usr/bin/python3";
    public static final String NONCE = "0123456789abcdef";
    public static final String BOOT = "c0d43b84-5d58-44cb-8d64-fe40f0a9661f";
    private static final Path RESOURCES = Path.of("src/main/resources/dev/genv/enforcer/remote/agent");
    private static final List<String> PARTS = List.of(
            "base",
            "children",
            "machine",
            "files",
            "trusted",
            "gpu",
            "processes",
            "relations",
            "devices",
            "holders",
            "state",
            "lease",
            "observe",
            "act",
            "serve");
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final long FIRST_PID_NAMESPACE = 4026531836L;

    public final Path state;
    public final Path etc;
    public final Path run;
    public final FakeNvidiaSmi nvidiaSmi;
    public final ObjectNode request = MAPPER.createObjectNode();
    public List<String> command = List.of(PYTHON, "-I", "-S", "-W", "error", "-");

    public PythonMachine(Path folder) throws IOException {
        state = Files.createDirectory(folder.resolve("genv"));
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
        etc = Files.createDirectory(folder.resolve("etc"));
        Files.writeString(etc.resolve("machine-id"), "0123456789abcdef0123456789abcdef\n");
        Files.writeString(etc.resolve("passwd"), "root:x:0:0::/root:/bin/sh\n");
        run = folder.resolve("run");
        nvidiaSmi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        request.put("nonce", NONCE)
                .put("budget", 110)
                .put("proc", "/proc")
                .put("etc", etc.toString())
                .put("run", run.toString())
                .put("state", state.toString())
                .put("acts", true)
                .put("lockTimeout", 30)
                .put("skipKernels", false)
                .put("holders", false)
                .put("passwd", "")
                .put("subuid", "")
                .put("deadline", Long.MAX_VALUE)
                .put(
                        "boot",
                        Files.readString(Path.of("/proc/sys/kernel/random/boot_id"))
                                .strip());
        request.putArray("subordinates");
        request.putArray("reused");
        request.putArray("skip");
        request.putArray("first");
        request.putArray("verified");
        request.putArray("settled");
        request.putArray("attributed");
        request.putArray("programs");
        request.putObject("lease").put("holder", "one").put("seconds", 3600);
        gpu().put("program", nvidiaSmi.path().toString())
                .put("timeout", 60)
                .put("processes", "--query-compute-apps=gpu_uuid,pid,used_gpu_memory")
                .put("devices", "--query-gpu=index,uuid,memory.used")
                .put("status", "")
                .put("skip", false)
                .put("skipStatus", false)
                .putArray("arguments")
                .add("--format=csv,noheader,nounits");
    }

    public ObjectNode gpu() {
        return request.withObject("/gpu");
    }

    /** A fake {@code /proc}, of root on a machine that has been up for an hour. */
    public FakeProc useFakeProc(Path root) throws IOException {
        request.put("proc", root.toString()).put("boot", BOOT);
        var fake = new FakeProc(Files.createDirectories(root));
        fake.writeSelf("000001ffffffffff", "");
        fake.pidNamespace(FIRST_PID_NAMESPACE);
        Files.writeString(
                Files.createDirectories(root.resolve("sys/kernel/random")).resolve("boot_id"), BOOT + "\n");
        Files.writeString(root.resolve("locks"), "");
        Files.writeString(root.resolve("uptime"), "3600.00 0.00\n");
        return fake;
    }

    /** Has the GPU tool list processes that are not there for the kernel. */
    public void setGpuProcesses(int... pids) throws IOException {
        var lines = Arrays.stream(pids)
                .mapToObj(pid -> "%s, %d, 1\n".formatted(FakeNvidiaSmi.uuid(0), pid))
                .collect(Collectors.joining());
        nvidiaSmi.fault("case $1 in *compute*) printf '%%s' '%s'; exit 0 ;; esac".formatted(lines));
    }

    public StateFiles files() {
        return new StateFiles(state);
    }

    /** A process in an environment that is attached to the first of two devices, and genv's lock. */
    public void writeOneEnvironment(Child child) throws IOException {
        files().ownEnv("15971", null, child.pid()).device(0, "15971").device(1).write();
        Files.createFile(state.resolve("genv.lock"));
    }

    /** The program without the line that calls it. */
    public static String program() throws IOException {
        var text = new StringBuilder();
        for (var part : PARTS) {
            text.append(Files.readString(RESOURCES.resolve(part + ".py")));
        }
        return text.toString();
    }

    /** The program with a line that answers one request. */
    public String input(String function) throws IOException {
        return "%sos.umask(0o077)\nos.chdir('/')\nrespond(%s)\n".formatted(program(), json(function));
    }

    /** The program with lines that examine a process, and answer the request to send SIGTERM to it. */
    public String signalInput(int pid) throws IOException {
        request.putArray("pids").add(pid);
        return "%sos.umask(0o077)\nos.chdir('/')\nrequest = native(json.loads(%s))\n"
                        .formatted(program(), json("signal"))
                + "seen = examine(Machine(request))\n"
                + """
                request['signals'] = [dict(digest=seen['processes'][0]['digest'], pid=%d, startTime=%d, signal='TERM')]
                """.formatted(pid, startTime(pid))
                + "respond(to_json(request).encode())\n";
    }

    private long startTime(int pid) throws IOException {
        var stat = Path.of(request.get("proc").asText(), Integer.toString(pid), "stat");
        return ProcStat.parse(Files.readString(stat)).startTime();
    }

    private String json(String function) {
        var json = request.put("do", function).toString().getBytes(UTF_8);
        return "binascii.a2b_base64('%s')".formatted(Base64.getEncoder().encodeToString(json));
    }

    /** The line of a request to a running agent. */
    public String line(String function) {
        var json = request.put("do", function).toString();
        return "%s %s\n".formatted(json, AgentOutput.checksum(json.getBytes(UTF_8)));
    }

    /** Observes, and returns the facts. */
    public JsonNode observe() throws IOException, InterruptedException {
        var answer = run(input("observe")).answer();
        if (!answer.has("facts")) {
            throw new IOException(answer.toString());
        }
        return answer.get("facts");
    }

    /** Examines a process, sends SIGTERM to it, and returns the kind of the result. */
    public String signal(int pid) throws IOException, InterruptedException {
        return run(signalInput(pid)).answer().at("/signals/0/result/kind").asText();
    }

    /** Replaces devices.json, which has this content, by another one. */
    public JsonNode swapDevices(String old, String other) throws IOException, InterruptedException {
        return run(swapInput(old, other)).answer();
    }

    public String swapInput(String old, String other) throws IOException {
        request.put("digest", Sha256.hex(old.getBytes(UTF_8)))
                .put("content", Base64.getEncoder().encodeToString(other.getBytes(UTF_8)));
        return input("swapDevices");
    }

    public PythonOutput run(String input) throws IOException, InterruptedException {
        var output = Files.createTempFile("python", "output");
        var errors = Files.createTempFile("python", "errors");
        try {
            var process = new ProcessBuilder(command)
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile())
                    .start();
            try (var stream = process.getOutputStream()) {
                stream.write(input.getBytes(UTF_8));
            }
            if (!process.waitFor(3, TimeUnit.MINUTES)) {
                process.destroyForcibly().waitFor();
                throw new IOException("it did not exit");
            }
            return new PythonOutput(
                    process.exitValue(), Files.readString(output, ISO_8859_1), Files.readString(errors, ISO_8859_1));
        } finally {
            Files.delete(output);
            Files.delete(errors);
        }
    }

    /** The bytes of a value, one char for each. */
    public static String bytes(JsonNode base64) {
        return new String(Base64.getDecoder().decode(base64.asText()), ISO_8859_1);
    }

    public static List<String> list(JsonNode array) {
        var values = new ArrayList<String>();
        array.forEach(value -> values.add(value.asText()));
        return values;
    }
}
