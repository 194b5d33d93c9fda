package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests and answers on their way through a login. */
@Timeout(600)
class AgentProgramTest {
    private final Path folder;
    private final Machine machine;

    AgentProgramTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder);
    }

    @BeforeEach
    void writeState() throws IOException {
        machine.files().device(0).device(1).write();
    }

    @Test
    void ignoresOutputOfTheLogin() throws Exception {
        var noise = "Welcome to gpu-1\n@" + "0".repeat(32) + " {} 0\n\u001b[2J\0\u00ff@ me\n";
        machine.python.transformAnswers(answer -> {
            var lines = answer.output().replace("\n@", "\n" + noise + "@");
            return new CommandResult(noise + "$ " + lines + noise, noise, 0, null);
        });
        try (var child = Child.inEnvironment("1")) {
            machine.nvidiaSmi.process(0, child.pid(), "1");
            assertThat(machine.observe().processes()).hasSize(1);
            assertThat(machine.observe().missing()).isEmpty();
        }
    }

    /** The service recognises sudo's refusals by their words. */
    @Test
    void hasSudoSpeakEnglish() {
        var agent = machine.useSudo().agent();
        var commands = new ArrayList<String>();
        assertThatThrownBy(() -> agent.observe(
                        request -> {
                            commands.add(request.command());
                            return new CommandResult("", "sudo: a password is required", 1, null);
                        },
                        Set.of()))
                .isInstanceOf(UnreachableException.class);
        assertThat(commands).singleElement().asString().startsWith("env LC_ALL=C sudo -n /usr/bin/python3 ");
    }

    @Test
    void refusesTruncatedAnswer() throws Exception {
        machine.observe();
        var whole = machine.python.request(machine.python.requests().getFirst()).output();
        for (var length = 0; length < whole.length() - 1; length += 97) {
            var cut = whole.substring(0, length);
            assertUnreadable(new CommandResult(cut, "", 0, null));
            assertUnreadable(new CommandResult(cut + "\n", "", null, null));
        }
        assertUnreadable(new CommandResult(whole, "", 0, null)); // the word is that of another request
    }

    private void assertUnreadable(CommandResult answer) {
        assertThatThrownBy(() -> machine.agent().observe(_ -> answer, Set.of()))
                .isInstanceOfSatisfying(
                        UnreachableException.class, e -> assertThat(e.code()).isEqualTo(ProblemCode.ANSWER_UNREADABLE));
    }

    /** Its next answer may be invalid for the same reason. */
    @Test
    void endsAnAgentWhoseAnswerIsInvalid() {
        var agent = machine.agent();
        assertThatThrownBy(() -> agent.observe(
                        request -> new CommandResult(
                                Machine.answer(request, new Answer.Failed("why"))
                                        .replace("why", "how"),
                                "",
                                null,
                                null),
                        Set.of()))
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining("its checksum is that of another text");
        assertThat(agent.stops()).isEqualTo(1);
    }

    private static String nonce(ProgramRequest request) {
        return Machine.request(request).path("nonce").textValue();
    }

    @Test
    void everyRequestHasItsOwnNonce() throws Exception {
        var nonces = new ArrayList<String>();
        for (var i = 0; i < 2; i++) {
            machine.observe();
            nonces.add(nonce(machine.python.requests().get(i)));
        }
        assertThat(nonces).doesNotHaveDuplicates();
    }

    @Test
    void acceptsAnyCharacterInPaths() throws Exception {
        var odd = Files.createDirectory(folder.resolve("a 'b' \"c\" $(id)`id`\\ *;&\n-n ä"));
        var other = new Machine(odd);
        other.files()
                .ownEnv("1", null, (int) ProcessHandle.current().pid())
                .device(0, "1")
                .device(1)
                .write();
        var snapshot = other.protectPrograms(odd.resolve("server").toString().replace("\n", ""))
                .observe();
        assertThat(snapshot.environments()).hasSize(1);
        assertThat(snapshot.missing()).isEmpty();
        assertThat(snapshot.listedDevices()).hasSize(2);
    }
}
