package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The agent as a program that answers one request after the other. */
class PythonResidentTest extends PythonFixture {

    @Test
    void answersRequestsInParts() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            var line = signal(agent, child);
            agent.write(line.substring(0, 1));
            agent.write(line.substring(1, line.length() - 1));
            assertThat(child.isAlive()).isTrue();
            assertThat(agent.answer("\n").at("/signals/0/result/kind").asText()).isEqualTo("SENT");
            assertThat(child.awaitExit()).isEqualTo(143);
            assertThat(agent.answer(machine.line("observe")).has("facts")).isTrue();
        }
    }

    @Test
    void endsWithItsInput() throws Exception {
        try (var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            agent.answer(machine.line("observe"));
            agent.closeInput();
            assertThat(agent.process.waitFor()).isZero();
        }
    }

    /** A service may vanish without closing its connection. */
    @Test
    void endsWithoutRequests() throws Exception {
        try (var agent = new ResidentAgent(AgentProgram.withIdleTime(Duration.ZERO))) {
            assertThat(agent.process.waitFor()).isZero();
        }
        try (var agent = new ResidentAgent(AgentProgram.withIdleTime(Duration.ZERO))) {
            agent.write(machine.line("observe").substring(0, 100));
            assertThat(agent.process.waitFor()).isZero();
        }
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void endsWhenAnAnswerCannotBeWritten() throws Exception {
        try (var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            agent.answer(machine.line("observe"));
            agent.closeOutput();
            agent.write(machine.line("observe"));
            assertThat(agent.process.waitFor()).isNotZero();
        }
    }

    /** What it had opened may still be open. */
    @Test
    void endsAfterAnUnexpectedException() throws Exception {
        try (var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            machine.request.remove("gpu");
            assertThat(agent.answer(machine.line("observe")).get("failed").asText())
                    .startsWith("the agent failed: KeyError");
            assertThat(agent.process.waitFor()).isZero();
        }
    }

    @Test
    void keepsNothingBetweenRequests() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            var proc = Path.of("/proc", Long.toString(agent.process.pid()));
            agent.answer(machine.line("observe"));
            agent.answer(signal(agent, child));
            assertThat(agent.descriptors()).isEqualTo(3);
            assertThat(Files.readSymbolicLink(proc.resolve("cwd"))).isEqualTo(Path.of("/"));
            assertThat(Files.readString(Path.of("/proc/locks")))
                    .doesNotContainPattern("FLOCK .* " + agent.process.pid() + " ");
            agent.awaitNoChildren();
        }
    }

    /** Also not when everything goes wrong: the tool hangs, and the state directory does not answer. */
    @Test
    void keepsNothingAfterFailures() throws Exception {
        machine.request.put("lockTimeout", 0.2).put("budget", 3);
        machine.gpu().put("timeout", 0.2);
        machine.nvidiaSmi.fault("exec sleep 3600");
        try (var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            for (var i = 0; i < 3; i++) {
                assertThat(agent.answer(machine.line("observe"))
                                .at("/facts/gpu/processes/failure")
                                .asText())
                        .isEqualTo("TIMEOUT");
                assertThat(agent.descriptors()).isEqualTo(3);
            }
            agent.awaitNoChildren();
        }
    }

    /** Then the kernel reaps children by itself, and their pids can be those of other processes. */
    @Test
    void killsOnlyItsChildrenWhereSigchldIsIgnored() throws Exception {
        var ignoring = "exec " + PythonMachine.PYTHON + " -c 'import os,signal,sys;"
                + "signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' ";
        machine.command = List.of("sh", "-c", ignoring + PythonMachine.PROGRAM.command());
        var output = machine.run(PythonMachine.PROGRAM.text() + machine.line("observe"));
        assertThat(output.errors()).isEmpty();
        assertThat(output.answer().at("/facts/gpu/processes/value/exitCode").asInt(1))
                .isZero();
    }

    @Tag("long")
    @Test
    void memoryAndProcessesDoNotGrow() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            for (var i = 0; i < 200; i++) {
                agent.answer(machine.line("observe"));
            }
            var before = agent.residentKiB();
            for (var i = 0; i < 1000; i++) {
                agent.answer(machine.line("observe"));
            }
            assertThat(agent.residentKiB()).isLessThan(before + 512);
            assertThat(agent.descriptors()).isEqualTo(3);
            agent.awaitNoChildren();
        }
    }

    /** Nothing terminates a process whose system call hangs in the kernel; here SIGKILL is not sent. */
    @Test
    void startsNoChildrenWhileManyHang() throws Exception {
        var pids = folder.resolve("pids");
        machine.request.put("lockTimeout", 0.2).put("budget", 3);
        machine.gpu().put("skip", true);
        var hang = "open('%s', 'a').write('%%d\\\\n' %% os.getpid()), time.sleep(3600)".formatted(pids);
        var input = machine.input("observe")
                .replace("signal.SIGKILL", "0")
                .replace("MOST = 256", "MOST = 2")
                .replaceFirst("(?m)^(def open_state\\(.*\\n.*\\n)", "$1    " + hang + "\n");
        var again = input.substring(input.lastIndexOf("respond("));
        try {
            var output = machine.run(input + again + again);
            assertThat(output.lines()).hasSize(3);
            assertThat(output.lines().get(1)).contains("there was no answer within");
            assertThat(output.lines().get(2)).contains("2 child processes of the agent hang");
            assertThat(Files.readAllLines(pids)).hasSize(2);
        } finally {
            for (var pid : Files.readAllLines(pids)) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
        await().until(() -> Files.readAllLines(pids).stream()
                .allMatch(pid -> ProcessHandle.of(Long.parseLong(pid)).isEmpty()));
    }

    /** Of processes that were examined, and then not signalled. */
    @Test
    void closesItsHandlesWithTheNextRequestOrAfterAWhile() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = new ResidentAgent(PythonMachine.PROGRAM)) {
            signal(agent, child);
            assertThat(agent.descriptors()).isEqualTo(4);
            agent.answer(machine.line("observe"));
            assertThat(agent.descriptors()).isEqualTo(3);
            var late = signal(agent, child);
            await().until(() -> agent.descriptors() == 3);
            assertThat(agent.answer(late).at("/signals/0/result/reason").asText())
                    .isEqualTo("abandoned: the execution took too long");
            assertThat(child.isAlive()).isTrue();
        }
    }

    /** Returns the request to send SIGTERM to a process that is examined before. */
    private String signal(ResidentAgent agent, Child child) throws IOException {
        machine.request.putArray("pids").add(child.pid());
        var seen = agent.answer(machine.line("examine")).at("/processes/0/digest");
        machine.request
                .putArray("signals")
                .addObject()
                .put("pid", child.pid())
                .put("startTime", 1)
                .put("signal", "TERM")
                .set("digest", seen);
        return machine.line("signal");
    }

    /** A running agent. */
    private static final class ResidentAgent implements AutoCloseable {
        private static final ObjectMapper MAPPER = new ObjectMapper();
        private static final String MARK = AgentOutput.mark(PythonMachine.NONCE);

        final Process process;
        private final BufferedReader output;

        ResidentAgent(AgentProgram program) throws IOException {
            process = new ProcessBuilder("sh", "-c", "exec " + program.command())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            output = process.inputReader(ISO_8859_1);
            write(program.text());
        }

        void write(String text) throws IOException {
            process.getOutputStream().write(text.getBytes(UTF_8));
            process.getOutputStream().flush();
        }

        /** Sends a request, or the rest of it, and returns the answer. */
        JsonNode answer(String line) throws IOException {
            write(line);
            for (var text = output.readLine(); text != null; text = output.readLine()) {
                if (text.startsWith(MARK + "{")) {
                    return MAPPER.readTree(text.substring(MARK.length(), text.lastIndexOf(' ')));
                }
            }
            throw new IOException("it has ended");
        }

        void closeInput() throws IOException {
            process.getOutputStream().close();
        }

        void closeOutput() throws IOException {
            output.close();
        }

        int descriptors() throws IOException {
            try (var files = Files.list(file("fd"))) {
                return (int) files.count();
            }
        }

        long residentKiB() throws IOException {
            var line = Files.readString(file("status")).lines().filter(each -> each.startsWith("VmRSS:"));
            return Long.parseLong(line.findFirst().orElseThrow().replaceAll("\\D", ""));
        }

        /** A child that was killed last may exist for a moment, and then until the next request. */
        void awaitNoChildren() {
            var children = file("task").resolve(process.pid() + "/children");
            await().until(() -> Files.readString(children).split(" ", -1).length <= 2
                    && process.descendants()
                            .noneMatch(child -> child.info().command().isPresent()));
        }

        private Path file(String name) {
            return Path.of("/proc", Long.toString(process.pid()), name);
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }
}
