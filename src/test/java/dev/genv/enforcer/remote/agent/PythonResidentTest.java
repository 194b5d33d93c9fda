package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.python.PythonMachine;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent as a program that answers one request after the other. */
@Timeout(600)
class PythonResidentTest extends PythonAgentFixture {
    private static final Duration LONG = Duration.ofMinutes(10);

    @Test
    void answersRequestsInParts() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = agent(LONG)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            var line = signal(agent, child);
            agent.write(line.substring(0, 1));
            agent.write(line.substring(1, line.length() - 1));
            assertThat(child.isAlive()).isTrue();
            assertThat(agent.answer("\n").at("/signals/0/result/kind").asText()).isEqualTo("SENT");
            assertThat(child.awaitExit()).isEqualTo(143);
            assertThat(agent.answer(observe()).has("facts")).isTrue();
        }
    }

    @Test
    void endsWithItsInput() throws Exception {
        try (var agent = agent(LONG)) {
            agent.answer(observe());
            agent.closeInput();
            assertThat(agent.process().waitFor()).isZero();
        }
    }

    /** A service may vanish without closing its connection. */
    @Test
    void endsWithoutRequests() throws Exception {
        try (var agent = agent(Duration.ZERO)) {
            assertThat(agent.process().waitFor()).isZero();
        }
        try (var agent = agent(Duration.ZERO)) {
            agent.write(observe().substring(0, 100));
            assertThat(agent.process().waitFor()).isZero();
        }
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void endsWhenAnAnswerCannotBeWritten() throws Exception {
        try (var agent = agent(LONG)) {
            agent.answer(observe());
            agent.closeOutput();
            agent.write(observe());
            assertThat(agent.process().waitFor()).isNotZero();
        }
    }

    /** What it had opened may still be open. */
    @Test
    void endsAfterAnUnexpectedException() throws Exception {
        try (var agent = agent(LONG)) {
            machine.request.remove("gpu");
            assertThat(agent.answer(observe()).get("failed").asText()).startsWith("the agent failed: KeyError");
            assertThat(agent.process().waitFor()).isZero();
        }
    }

    @Test
    void keepsNothingBetweenRequests() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = agent(LONG)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            var proc = Path.of("/proc", Long.toString(agent.process().pid()));
            agent.answer(observe());
            agent.answer(signal(agent, child));
            assertThat(agent.descriptors()).isEqualTo(3);
            assertThat(Files.readSymbolicLink(proc.resolve("cwd"))).isEqualTo(Path.of("/"));
            assertThat(Files.readString(Path.of("/proc/locks")))
                    .doesNotContainPattern("FLOCK .* " + agent.process().pid() + " ");
            agent.awaitNoChildren();
        }
    }

    /** Also not when everything goes wrong: the tool hangs, and the state directory does not answer. */
    @Test
    void keepsNothingAfterFailures() throws Exception {
        machine.request.put("lockTimeout", 0.2).put("budget", 3);
        machine.gpu().put("timeout", 0.2);
        machine.nvidiaSmi.fault("exec sleep 3600");
        try (var agent = agent(LONG)) {
            for (var i = 0; i < 3; i++) {
                assertThat(agent.answer(observe())
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
        machine.command = List.of("sh", "-c", ignoring + PROGRAM.command());
        var output = machine.run(PROGRAM.text() + observe());
        assertThat(output.errors()).isEmpty();
        assertThat(output.answer().at("/facts/gpu/processes/value/exitCode").asInt(1))
                .isZero();
    }

    @Tag("long")
    @Test
    void memoryAndProcessesDoNotGrow() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = agent(LONG)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            for (var i = 0; i < 200; i++) {
                agent.answer(observe());
            }
            var before = agent.residentKiB();
            for (var i = 0; i < 1000; i++) {
                agent.answer(observe());
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
                var agent = agent(LONG)) {
            signal(agent, child);
            assertThat(agent.descriptors()).isEqualTo(4);
            agent.answer(observe());
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

    private ResidentAgent agent(Duration idleTime) throws IOException {
        return new ResidentAgent(AgentProgram.withIdleTime(idleTime));
    }
}
