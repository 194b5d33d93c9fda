package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
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
}
