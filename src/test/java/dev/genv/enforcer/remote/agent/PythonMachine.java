package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.AgentOutput.UnreadableAnswerException;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** Runs the agent's program in this machine's Python, with requests that tests change. */
final class PythonMachine extends Machine {
    static final String PYTHON = AgentProgram.PYTHON;
    static final String NONCE = "0123456789abcdef";
    static final AgentProgram PROGRAM = AgentProgram.withIdleTime(TIMEOUT.multipliedBy(5));
    /** The program without the line that calls it. */
    static final String FUNCTIONS = PROGRAM.text().substring(0, PROGRAM.text().lastIndexOf("serve("));

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** At first that of an observation, as the service sends it, with the boot and the deadline of actions. */
    final ObjectNode request;

    List<String> command = List.of(PYTHON, "-I", "-S", "-W", "error", "-");

    PythonMachine(Path folder) throws IOException {
        super(folder);
        Files.writeString(etc.resolve("passwd"), "root:x:0:0::/root:/bin/sh\n");
        request = firstRequest()
                .put("nonce", NONCE)
                .put("holders", false)
                .put("deadline", Long.MAX_VALUE)
                .put("boot", firstLine(Path.of("/proc/sys/kernel/random/boot_id")));
        request.putArray("programs");
    }

    private ObjectNode firstRequest() {
        var sent = new ArrayList<ProgramRequest>();
        assertThatThrownBy(() -> agent().observe(request -> {
                    sent.add(request);
                    throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "");
                }))
                .isInstanceOf(UnreachableException.class);
        return (ObjectNode) request(sent.getFirst());
    }

    private static String firstLine(Path file) throws IOException {
        return Files.readString(file).strip();
    }

    ObjectNode gpu() {
        return request.withObject("/gpu");
    }

    @Override
    FakeProc useFakeProc(Path root) throws IOException {
        request.put("proc", root.toString()).put("boot", BOOT);
        return super.useFakeProc(root);
    }

    /** The program with a line that answers one request. */
    String input(String function) {
        return "%sos.umask(0o077)\nos.chdir('/')\nrespond(%s)\n".formatted(FUNCTIONS, json(function));
    }

    /** The program with lines that examine a process, and answer the request to send SIGTERM to it. */
    String signalInput(int pid) throws IOException {
        request.putArray("pids").add(pid);
        var stat = Path.of(request.get("proc").asText(), Integer.toString(pid), "stat");
        return """
                %sos.umask(0o077)
                os.chdir('/')
                request = native(json.loads(%s))
                seen = examine(Machine(request))
                request['signals'] = [dict(digest=seen['processes'][0]['digest'], pid=%d, startTime=%d, signal='TERM')]
                respond(to_json(request).encode())
                """.formatted(
                        FUNCTIONS,
                        json("signal"),
                        pid,
                        ProcStat.parse(Files.readString(stat)).startTime());
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

    /** Examines a process, sends SIGTERM to it, and returns the kind of the result. */
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
            if (!process.end(TIMEOUT)) {
                throw new IOException("it did not exit");
            }
            return new Output(process.process.exitValue(), process.printed(), process.errors());
        }
    }

    /** Sends the line of a request to a running agent, and returns its answer. */
    static JsonNode answer(PythonProcess agent, String line) throws IOException, InterruptedException {
        var printed = agent.answer(line, AgentOutput.mark(NONCE), TIMEOUT);
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
            } catch (UnreadableAnswerException e) {
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
}
