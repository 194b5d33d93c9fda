package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The agent reads a state directory in which users do what they like; {@code StateRows} and {@code StateTableTest} have what both hands read. */
class PythonStateTest extends PythonFixture {
    private Path envs;
    private Path devices;
    private Path lock;
    private Child child;

    @BeforeEach
    void writeState() throws IOException {
        envs = machine.state.resolve("envs.json");
        devices = machine.state.resolve("devices.json");
        lock = machine.state.resolve("genv.lock");
        child = Child.inEnvironment("15971");
        machine.writeOneEnvironment(child);
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    private JsonNode assertComplete() throws Exception {
        var state = machine.facts().get("state");
        assertThat(bytes(state.at("/envs/present/content"))).isEqualTo(Files.readString(envs, ISO_8859_1));
        assertThat(bytes(state.at("/devices/present/content"))).isEqualTo(Files.readString(devices));
        return state;
    }

    @Test
    void observationCreatesNoLockAndInAuditModeTakesNone() throws Exception {
        machine.request.put("acts", false);
        try (var _ = RealFlock.take(lock)) {
            assertThat(assertComplete().at("/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        }
        assertThat(machine.run).doesNotExist();
        Files.delete(lock);
        machine.request.put("acts", true);
        assertThat(assertComplete().at("/lock/outcome").asText()).isEqualTo("HELD");
        assertThat(lock).as("it is not created").doesNotExist();
    }

    /** With a slash at its end, the kernel would follow it. */
    @Test
    void linkInPlaceOfTheDirectoryIsNotFollowed() throws Exception {
        var elsewhere = Files.move(machine.state, folder.resolve("elsewhere"));
        Files.createSymbolicLink(machine.state, elsewhere);
        machine.request.put("state", machine.state + "/");
        assertUnreadableDirectory("OTHER", "is a symbolic link");
    }

    @Test
    void waitsUntilTheLockIsReleased() throws Exception {
        machine.request.put("lockTimeout", 600);
        var waits = folder.resolve("waits");
        var pause = "            time.sleep(PAUSE)\n";
        var held = RealFlock.take(lock);
        var release = Thread.ofPlatform().start(() -> {
            await().until(() -> Files.exists(waits));
            try {
                held.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        var input = changed(machine.input("observe"), pause, "            open('%s', 'w')\n".formatted(waits) + pause);
        assertThat(machine.facts(input).at("/state/lock/outcome").asText()).isEqualTo("HELD");
        release.join();
    }

    private JsonNode assertUnreadableDirectory(String failure, String reason) throws Exception {
        var facts = machine.facts();
        assertThat(facts.at("/state/directory/unreadable/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/state/directory/unreadable/reason").asText()).isEqualTo(reason);
        assertThat(facts.at("/state/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        assertThat(facts.at("/state/envs").has("absent")).isTrue();
        return facts;
    }

    @Test
    void ordinaryUserMayNotReadWhatIsClosed() throws Exception {
        Requirements.root();
        machine.command = List.of(
                "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PythonMachine.PYTHON, "-I", "-");
        machine.nvidiaSmi.process(0, child.pid(), "1");
        setMode(machine.state, "rwx------");
        var facts = assertUnreadableDirectory("DENIED", "cannot be entered");
        assertThat(facts.at("/access/capabilities").asLong()).isZero();
        assertThat(facts.at("/processes/0/environ/failure").asText()).isEqualTo("DENIED");
        assertThat(facts.at("/processes/0/executable/failure").asText()).isEqualTo("DENIED");
        setMode(machine.state, "rwxr-xr-x");
        assertThat(machine.facts().at("/access/stateIsWritable").asBoolean()).isFalse();
    }

    /** Any user can create a file of this name, or move that of another directory here. */
    @Test
    void reportsTheEnforcerOfTheMachineIfItsLockIsValid() throws Exception {
        var mark = enforcerLock("genv-enforcer of directory %s\n");
        assertThat(hasEnforcer()).isFalse();
        try (var _ = RealFlock.take(mark)) {
            enforcerLock("genv-enforcer of directory 1%s\n");
            assertThat(hasEnforcer()).isFalse();
            enforcerLock("genv-enforcer of directory %s\n");
            assertThat(machine.facts().at("/enforcers/other/onMachine/pid").asLong())
                    .isEqualTo(ProcessHandle.current().pid());
            machine.request.put("acts", false);
            assertThat(hasEnforcer()).isFalse();
            machine.request.put("acts", true);
            setMode(mark, "rw-rw----");
            assertThat(hasEnforcer()).isFalse();
            setMode(mark, "rw-------");
            Files.createLink(folder.resolve("other"), mark);
            assertThat(hasEnforcer()).isFalse();
            Files.delete(folder.resolve("other"));
            if (CurrentProcess.isRoot()) {
                Files.setAttribute(mark, "unix:uid", 65534);
                assertThat(hasEnforcer()).isFalse();
                Files.setAttribute(mark, "unix:uid", 0);
            }
            assertThat(hasEnforcer()).isTrue();
        }
    }

    private boolean hasEnforcer() throws Exception {
        return machine.facts().at("/enforcers/other").has("onMachine");
    }

    private Path enforcerLock(String content) throws IOException {
        var mark = machine.state.resolve(".genv-enforcer.lock");
        Files.writeString(mark, content.formatted(Files.getAttribute(machine.state, "unix:ino")));
        setMode(mark, "rw-------");
        return mark;
    }

    /** As if the file system did not answer: a child process of the agent sleeps. Nobody waits for the end of the output. */
    private PythonMachine.Output hang(String function, String input) throws Exception {
        machine.command = List.of("sh", "-c", "%s -I -S - | cat".formatted(PythonMachine.PYTHON));
        var pid = folder.resolve("hung");
        var output = machine.run(changedAtTheStartOf(
                function, input, "open('%s', 'w').write(str(os.getpid())), time.sleep(3600)".formatted(pid)));
        var child = Long.parseLong(Files.readString(pid));
        await("what can be killed is killed")
                .until(() -> ProcessHandle.of(child).isEmpty());
        return output;
    }

    @Test
    void hangingDirectoryHidesNoOtherFacts() throws Exception {
        machine.request.put("lockTimeout", 0.3);
        machine.nvidiaSmi.process(0, child.pid(), "1542");
        var facts = hang("open_state", machine.input("observe")).answer().get("facts");
        assertThat(facts.at("/state/directory/unreadable/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(facts.at("/state/directory/unreadable/reason").asText())
                .startsWith("there was no answer within 4300 ms; it is in a file system of the type ");
        assertThat(facts.at("/processes/0/environ").has("value")).isTrue();
        assertThat(facts.at("/enforcers/other").isNull()).isTrue();
    }

    @Test
    void hangingDirectoryPreventsTheReplacementButNoSignal() throws Exception {
        machine.request.put("lockTimeout", 0.3);
        var content = Files.readString(devices);
        for (var function : List.of("open_state", "state_file", "remove_leftovers")) {
            var output = hang(function, machine.swapInput(content, "{}"));
            assertThat(output.parsed().begun()).isEmpty();
            assertThat(output.answer().at("/swap/notWritten/reason").asText())
                    .startsWith("the state directory does not answer: there was no answer within ");
            assertThat(devices).hasContent(content);
        }
        var output = hang("open_state", machine.signalInput(child.pid()));
        assertThat(output.answer().at("/signals/0/result/kind").asText()).isEqualTo("SENT");
        assertThat(child.awaitExit()).isEqualTo(143);
    }
}
