package dev.genv.enforcer.remote.agent.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The state directory is in a file system that does not answer. Here a child process of the agent sleeps instead. */
@Timeout(600)
class PythonHangTest {
    @TempDir
    private Path folder;

    private PythonMachine machine;
    private Path hung;

    @BeforeEach
    void create() throws IOException {
        machine = new PythonMachine(folder);
        machine.request.put("lockTimeout", 0.3);
        machine.files().device(0).write();
        hung = folder.resolve("hung");
        // Nobody may wait for the end of the output: the service waits for it too.
        machine.command = List.of("sh", "-c", "%s -I -S - | cat".formatted(PythonMachine.PYTHON));
    }

    /** Has the first line of a function never end. */
    private String input(String request, String function) throws IOException {
        var hang = "open('%s', 'w').write(str(os.getpid())), time.sleep(3600)".formatted(hung);
        var input = machine.input(request)
                .replaceFirst("(?m)^(def %s\\(.*\\n.*\\n)".formatted(function), "$1    " + hang + "\n");
        assertThat(input).contains(hang);
        return input;
    }

    @Test
    void deliversTheOtherFacts() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.nvidiaSmi.process(0, child.pid(), "1542");
            var facts = machine.run(input("observe", "open_state")).answer().get("facts");
            assertThat(facts.at("/state/directory/unreadable/failure").asText()).isEqualTo("TIMEOUT");
            assertThat(facts.at("/state/directory/unreadable/reason").asText())
                    .startsWith("there was no answer within 4300 ms; it is in a file system of the type ");
            assertThat(facts.at("/processes/0/environ").has("value")).isTrue();
            assertThat(facts.at("/enforcers/other").isNull()).isTrue();
        }
        assertNoProcessLeft();
    }

    @Test
    void writesNothingIfTheDirectoryDoesNotAnswer() throws Exception {
        var devices = Files.readString(machine.state.resolve("devices.json"));
        for (var function : List.of("open_state", "state_file", "remove_leftovers")) {
            machine.swapInput(devices, "{}");
            var output = machine.run(input("swapDevices", function));
            assertThat(output.lines()).hasSize(1); // it was not begun
            assertThat(output.answer().at("/leased").isNull()).isTrue();
            assertThat(output.answer().at("/swap/notWritten/reason").asText())
                    .startsWith("the state directory does not answer: there was no answer within ");
            assertThat(machine.state.resolve("devices.json")).hasContent(devices);
        }
    }

    @Test
    void signalsAlthoughTheLeaseOfTheDirectoryIsUnknown() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            var input = machine.signalInput(child.pid())
                    .replaceFirst("(?m)^(def open_state\\(.*\\n.*\\n)", "$1    time.sleep(3600)\n");
            assertThat(machine.run(input).answer().at("/signals/0/result/kind").asText())
                    .isEqualTo("SENT");
            assertThat(child.awaitExit()).isEqualTo(143);
        }
    }

    /** What can be killed is killed. */
    private void assertNoProcessLeft() throws IOException {
        var pid = Long.parseLong(Files.readString(hung));
        await().until(() -> ProcessHandle.of(pid).isEmpty());
    }
}
