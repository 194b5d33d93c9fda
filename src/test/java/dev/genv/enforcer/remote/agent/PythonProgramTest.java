package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.remote.agent.PythonMachine.answer;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.LocalPython.PythonProcess;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The agent as a program: its versions of Python, its way to the machine, and its way back. */
class PythonProgramTest extends PythonFixture {
    /** Prints the names that a program uses and nobody defines, in the syntax of Python 3.6. */
    private static final String CHECK = """
            import ast, builtins, sys
            source = sys.stdin.read()
            kwargs = {"feature_version": (3, 6)} if sys.version_info >= (3, 8) else {}
            tree = ast.parse(source, **kwargs)
            nodes = list(ast.walk(tree))
            known = set(dir(builtins))
            known |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler))}
            known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
            known |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            names = [node for node in nodes if isinstance(node, ast.Name)]
            known |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
            print(sorted({name.id for name in names} - known))
            """;

    @BeforeEach
    void writeState() throws IOException {
        machine.files().device(0).write();
    }

    /** This machine's own, and those of pyenv, of which the oldest is 3.6. */
    static Stream<String> pythons() throws IOException {
        var versions = Path.of(System.getProperty("user.home"), ".pyenv", "versions");
        if (!Files.isDirectory(versions)) {
            return Stream.of(PythonMachine.PYTHON);
        }
        try (var files = Files.newDirectoryStream(versions, "3.*")) {
            var found = new ArrayList<>(List.of(PythonMachine.PYTHON));
            files.forEach(version -> found.add(version.resolve("bin/python3").toString()));
            return found.stream();
        }
    }

    @Test
    void hasTheSyntaxOfPython36AndNoUndefinedName() throws Exception {
        machine.command = List.of(PythonMachine.PYTHON, "-c", CHECK);
        assertThat(machine.run(PythonMachine.FUNCTIONS).text()).isEqualTo("[]\n");
    }

    @ParameterizedTest
    @MethodSource("pythons")
    void runsInEveryVersionWithoutWarnings(String python) throws Exception {
        for (var locale : List.of("C", "C.UTF-8", "POSIX")) {
            machine.command = List.of("env", "-i", "LC_ALL=" + locale, python, "-I", "-S", "-W", "error", "-");
            try (var child = Child.inEnvironment("ä")) {
                machine.nvidiaSmi.noProcesses().process(0, child.pid(), "1");
                var output = machine.run(machine.input("observe"));
                assertThat(output.errors()).isEmpty();
                var process = output.answer().at("/facts/processes/0");
                assertThat(bytes(process.at("/environ/value/id")))
                        .isEqualTo(new String("ä".getBytes(UTF_8), ISO_8859_1));
                var signalled = machine.run(machine.signalInput(child.pid()));
                assertThat(signalled.errors()).isEmpty();
                assertThat(signalled.answer().at("/signals/0/result/kind").asText())
                        .isEqualTo("SENT");
                assertThat(child.awaitExit()).isEqualTo(143);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("pythons")
    void acceptsAnyCharacterInPaths(String python) throws Exception {
        var odd = Files.createDirectory(folder.resolve("a 'b' \"c\" $(id)`id`\\ *;&\n-n ä"));
        var other = new PythonMachine(odd);
        other.command = List.of("env", "-i", "LC_ALL=C", python, "-I", "-S", "-");
        other.files().device(0).write();
        other.request.withArray("/programs").add(odd.resolve("server").toString());
        var facts = other.facts();
        assertThat(facts.at("/state/devices").has("present")).isTrue();
        assertThat(facts.at("/gpu/devices/value/exitCode").asInt()).isZero();
        assertThat(facts.at("/programs/0/failure").asText()).isEqualTo("ABSENT");
    }

    /** A connection may be lost at any time, and a login script may read or write something too. */
    @Test
    void damagedProgramDoesNothing() throws Exception {
        var text = PythonMachine.PROGRAM.text();
        var length = text.length();
        var inputs = Stream.concat(
                Stream.of(0, 10, length / 3, length / 2, length - 20, length - 1)
                        .map(sent -> text.substring(0, sent)),
                Stream.of("SWAP = 0", "return", "\n")
                        .map(change ->
                                text.replaceFirst(change, "x".repeat(change.length())) + machine.line("observe")));
        for (var input : inputs.toList()) {
            assertThat(send(input)).isEqualTo(new PythonMachine.Output(1, "", "the agent arrived damaged\n"));
        }
        assertThat(send(text.substring(5) + machine.line("observe")).text())
                .as("a login has read a part of the input")
                .isEmpty();
        assertThat(machine.run).doesNotExist();
    }

    @Test
    void damagedRequestDoesNothing() throws Exception {
        var line = machine.line("observe");
        for (var missing : List.of(1, 2, 9, 10, 11, line.length() / 2, line.length() - 1)) {
            assertThat(send(PythonMachine.PROGRAM.text() + line.substring(0, line.length() - missing)))
                    .isEqualTo(new PythonMachine.Output(0, "", ""));
        }
        for (var damaged : List.of(
                changed(line, "\"acts\":true", "\"acts\":none"),
                line.substring(0, line.length() - 10) + "\n",
                line.substring(1),
                "\n")) {
            assertThat(send(PythonMachine.PROGRAM.text() + damaged))
                    .isEqualTo(new PythonMachine.Output(1, "", "a request arrived damaged\n"));
        }
        assertThat(machine.run).doesNotExist();
    }

    private PythonMachine.Output send(String input) throws Exception {
        machine.command = List.of("sh", "-c", "exec " + PythonMachine.PROGRAM.command());
        return machine.run(input);
    }

    @Test
    void answersOnALineOfItsOwn() throws Exception {
        var output = machine.run("import os; os.write(1, b'Welcome')\n" + machine.input("observe"));
        assertThat(output.text()).startsWith("Welcome\n@%1$s received\n@%1$s {".formatted(PythonMachine.NONCE));
        assertThat(output.exitCode()).isZero();
        assertThat(output.errors()).isEmpty();
    }

    /** Another program that knows the nonce could forge the answer. */
    @Test
    void nonceAppearsInNoArgumentsOrEnvironment() throws Exception {
        var seen = folder.resolve("seen");
        machine.nvidiaSmi.fault("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ >>" + seen + " 2>/dev/null");
        machine.facts();
        var all = Files.readString(seen, ISO_8859_1);
        assertThat(all.contains("--query-compute-apps")).isTrue();
        assertThat(all.contains(PythonMachine.NONCE)).isFalse();
    }

    @Test
    void answersRequestsInParts() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = start(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.orderSignal(child.pid());
            var line = machine.line("signal");
            agent.write(line.substring(0, 1));
            agent.write(line.substring(1, line.length() - 1));
            assertThat(child.isAlive()).isTrue();
            assertThat(answer(agent, "\n").at("/signals/0/result/kind").asText())
                    .isEqualTo("SENT");
            assertThat(child.awaitExit()).isEqualTo(143);
            assertThat(answer(agent, machine.line("observe")).has("facts")).isTrue();
        }
    }

    /** A service may vanish without closing its connection. */
    @Test
    void endsWithoutRequests() throws Exception {
        try (var agent = start(AgentProgram.withIdleTime(Duration.ZERO))) {
            assertThat(agent.process.waitFor()).isZero();
        }
        try (var agent = start(AgentProgram.withIdleTime(Duration.ZERO))) {
            agent.write(machine.line("observe").substring(0, 100));
            assertThat(agent.process.waitFor()).isZero();
        }
        assertThat(machine.run).doesNotExist();
    }

    /** What it had opened may still be open. */
    @Test
    void endsAfterAnUnexpectedException() throws Exception {
        try (var agent = start(PythonMachine.PROGRAM)) {
            machine.request.withObject("/lease").put("seconds", "x"); // a child process reads it
            assertThat(answer(agent, machine.line("observe")).get("failed").asText())
                    .matches("the agent failed: ValueError in line \\d+");
            assertThat(agent.process.waitFor()).isZero();
        }
        machine.request.remove("gpu");
        assertThat(machine.run(machine.input("observe")).answer().get("failed").asText())
                .matches("the agent failed: KeyError in line \\d+");
    }

    @Test
    void keepsNothingBetweenRequests() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = start(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            answer(agent, machine.line("observe"));
            machine.orderSignal(child.pid());
            answer(agent, machine.line("signal"));
            answer(agent, machine.line("signal")); // it has exited, or is a zombie
            assertThat(descriptors(agent)).isEqualTo(4);
            assertThat(Files.readSymbolicLink(file(agent, "cwd"))).isEqualTo(Path.of("/"));
            assertThat(Files.readString(Path.of("/proc/locks")))
                    .doesNotContainPattern("FLOCK .* " + agent.process.pid() + " ");
            awaitOneIdleChild(agent);
        }
    }

    /** Also not when everything goes wrong: the tool hangs, and the state directory does not answer. */
    @Test
    void keepsNothingAfterFailures() throws Exception {
        machine.request.put("lockTimeout", 0.2).put("budget", 3);
        machine.gpu().put("timeout", 0.2);
        machine.nvidiaSmi.fault("exec sleep 3600");
        try (var agent = start(PythonMachine.PROGRAM)) {
            for (var i = 0; i < 3; i++) {
                assertThat(answer(agent, machine.line("observe"))
                                .at("/facts/gpu/processes/failure")
                                .asText())
                        .isEqualTo("TIMEOUT");
                assertThat(descriptors(agent)).isEqualTo(4);
            }
            awaitOneIdleChild(agent);
        }
    }

    /** A system call that never returns ends only the child that made it. */
    @Test
    void oneChildServesAllObservationsUntilItHangs() throws Exception {
        machine.request.put("lockTimeout", 0.2).put("budget", 3);
        var hangs = folder.resolve("hangs");
        try (var child = Child.inEnvironment("15971");
                var agent = startHanging(hangs)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            assertObserves(agent);
            var worker = children(agent);
            assertThat(worker).hasSize(1);
            assertObserves(agent);
            assertThat(children(agent)).isEqualTo(worker);
            Files.createFile(hangs);
            var facts = answer(agent, machine.line("observe")).get("facts");
            assertThat(facts.at("/state/directory/unreadable/failure").asText()).isEqualTo("TIMEOUT");
            assertThat(id(facts.at("/processes/0"))).isEqualTo("15971");
            Files.delete(hangs);
            assertObserves(agent);
            awaitOneIdleChild(agent);
            assertThat(children(agent)).doesNotContainAnyElementsOf(worker);
        }
    }

    private void assertObserves(PythonProcess agent) throws Exception {
        var facts = answer(agent, machine.line("observe")).get("facts");
        assertThat(facts.at("/state/devices").has("present")).isTrue();
        assertThat(id(facts.at("/processes/0"))).isEqualTo("15971");
    }

    @Test
    void childEndsWithAKilledAgent() throws Exception {
        var hangs = folder.resolve("hangs");
        for (var isHanging : List.of(false, true)) {
            try (var agent = startHanging(hangs)) {
                if (isHanging) {
                    Files.createFile(hangs);
                    agent.write(machine.line("observe"));
                    await().until(() -> Files.size(hangs) > 0);
                } else {
                    answer(agent, machine.line("observe"));
                }
                var worker = children(agent);
                assertThat(worker).hasSize(1);
                agent.process.destroyForcibly().onExit().join();
                await().until(() -> !worker.getFirst().isAlive());
            }
        }
    }

    /** Starts an agent whose child hangs while this file exists, to which it writes then. */
    private PythonProcess startHanging(Path file) throws IOException {
        var text = changedAtTheStartOf(
                "open_state",
                PythonMachine.PROGRAM.text(),
                "os.path.exists('%1$s') and (open('%1$s', 'w').write('x'), time.sleep(3600))".formatted(file));
        var program = Files.writeString(folder.resolve("program"), text);
        return new PythonProcess(
                List.of(PythonMachine.PYTHON, "-I", "-S", "-c", "exec(open('%s').read())".formatted(program)));
    }

    /** As on the node: {@code NvidiaSmiTest} has the same. */
    @Test
    void queriesTheDevicesAgainWheneverTheyMayBeOthers() throws Exception {
        try (var child = Child.inEnvironment("15971");
                var agent = start(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.gpus(1);
            assertQueriesDevices(agent, true, false);
            machine.request.put("deviceMemory", true);
            assertQueriesDevices(agent, true, true);
            machine.request.put("deviceMemory", false);
            machine.nvidiaSmi.gpus(2).process(1, child.pid(), "5"); // on an unknown device
            assertQueriesDevices(agent, true, false);
            machine.nvidiaSmi.gpus(1).noProcesses(); // a process that is no longer listed may have gone with its device
            assertQueriesDevices(agent, true, true);
            machine.nvidiaSmi.gpus(2);
            assertQueriesDevices(agent, true, false);
            machine.nvidiaSmi.fault("exit 9");
            answer(agent, machine.line("observe"));
            machine.nvidiaSmi.noFault();
            assertQueriesDevices(agent, true, false);
            machine.omitted().put("tool", true);
            answer(agent, machine.line("observe"));
            machine.omitted().put("tool", false);
            machine.nvidiaSmi.gpuLines("0, a, 1\n1, [GPU is lost], [GPU is lost]\n");
            assertQueriesDevices(agent, true, true);
        }
    }

    private void assertQueriesDevices(PythonProcess agent, Boolean... inEachReading) throws Exception {
        for (var each : inEachReading) {
            var gpu = answer(agent, machine.line("observe")).at("/facts/gpu");
            assertThat(gpu.get("devicesAreCurrent").asBoolean()).isEqualTo(each);
            assertThat(gpu.at("/devices/value/exitCode").asInt(1)).isZero();
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
                var agent = start(PythonMachine.PROGRAM)) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            machine.writeOneEnvironment(child);
            for (var i = 0; i < 200; i++) {
                answer(agent, machine.line("observe"));
            }
            var worker = children(agent).getFirst();
            var before = residentKiB(agent.process.toHandle());
            var workerBefore = residentKiB(worker);
            for (var i = 0; i < 1000; i++) {
                answer(agent, machine.line("observe"));
            }
            assertThat(residentKiB(agent.process.toHandle())).isLessThan(before + 512);
            assertThat(residentKiB(worker)).isLessThan(workerBefore + 512);
            assertThat(children(agent)).containsExactly(worker);
            assertThat(descriptors(agent)).isEqualTo(4);
            awaitOneIdleChild(agent);
        }
    }

    /** Nothing terminates a process whose system call hangs in the kernel; here SIGKILL is not sent. */
    @Test
    void startsNoChildrenWhileManyHang() throws Exception {
        var pids = folder.resolve("pids");
        machine.request.put("lockTimeout", 0.2).put("budget", 3);
        machine.omitted().put("tool", true);
        var hang = "open('%s', 'a').write('%%d\\\\n' %% os.getpid()), time.sleep(3600)".formatted(pids);
        var fewer = changed(machine.input("observe"), "MOST_CHILDREN = 256", "MOST_CHILDREN = 2");
        var input = changedAtTheStartOf("open_state", changed(fewer, "signal.SIGKILL", "0"), hang);
        var again = input.substring(input.lastIndexOf("respond("));
        try {
            var output = machine.run(input + again + again);
            var answers = output.text()
                    .lines()
                    .filter(line -> line.startsWith(AgentOutput.mark(PythonMachine.NONCE) + "{"))
                    .toList();
            assertThat(answers).hasSize(3);
            assertThat(answers.get(1)).contains("there was no answer within");
            assertThat(answers.get(2)).contains("2 child processes of the agent hang");
            assertThat(Files.readAllLines(pids)).hasSize(2);
        } finally {
            for (var pid : Files.readAllLines(pids)) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
        await().until(() -> Files.readAllLines(pids).stream()
                .allMatch(pid -> ProcessHandle.of(Long.parseLong(pid)).isEmpty()));
    }

    /** Starts an agent that runs until the test ends it. */
    private static PythonProcess start(AgentProgram program) throws IOException {
        var agent = new PythonProcess(List.of("sh", "-c", "exec " + program.command()));
        agent.write(program.text());
        return agent;
    }

    private static Path file(PythonProcess agent, String name) {
        return Path.of("/proc", Long.toString(agent.process.pid()), name);
    }

    private static long descriptors(PythonProcess agent) throws IOException {
        try (var files = Files.list(file(agent, "fd"))) {
            return files.count();
        }
    }

    private static long residentKiB(ProcessHandle process) throws IOException {
        var status = Path.of("/proc", Long.toString(process.pid()), "status");
        var line = Files.readString(status).lines().filter(each -> each.startsWith("VmRSS:"));
        return Long.parseLong(line.findFirst().orElseThrow().replaceAll("\\D", ""));
    }

    /** One child waits for the next task; another one that was killed last may exist for a moment, and then until the next request. */
    private static void awaitOneIdleChild(PythonProcess agent) throws IOException {
        await().until(() -> children(agent).size() <= 1);
        for (var child : children(agent)) {
            var folder = Path.of("/proc", Long.toString(child.pid()));
            try (var files = Files.list(folder.resolve("fd"))) {
                assertThat(files.count()).isEqualTo(4);
            }
            assertThat(Files.readSymbolicLink(folder.resolve("cwd"))).isEqualTo(Path.of("/"));
            assertThat(Files.readString(Path.of("/proc/locks"))).doesNotContainPattern("FLOCK .* " + child.pid() + " ");
        }
    }

    private static List<ProcessHandle> children(PythonProcess agent) {
        return agent.process
                .descendants()
                .filter(child -> child.info().command().isPresent())
                .toList();
    }
}
