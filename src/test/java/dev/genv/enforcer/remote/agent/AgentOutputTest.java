package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentFailure;
import dev.genv.enforcer.remote.agent.AgentOutput.LostAnswerException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AgentOutputTest {
    private static final String NONCE = "5f0c";
    private static final String JSON = "{\"failed\": \"there is no /proc\"}";
    private static final String ANSWER = answer(JSON);
    private static final String COMPLETE = "@5f0c begun 0\n@5f0c begun 7\n" + ANSWER;

    static String answer(String json) {
        return "@%s %s %s\n".formatted(NONCE, json, checksum(json));
    }

    private static String checksum(String json) {
        return AgentOutput.checksum(json.getBytes(StandardCharsets.ISO_8859_1));
    }

    @Test
    void findsTheAnswerAndWhatWasBegun() throws Exception {
        var output = AgentOutput.parse(COMPLETE, NONCE);
        assertThat(output.begun()).containsExactlyInAnyOrder(0, 7);
        assertThat(json(output)).isEqualTo(JSON);
    }

    @Test
    void ignoresOtherOutput() throws Exception {
        var noise = "Welcome!\n@0000 {} 00\n@5f0cbegun 3\n@5f0c\n{}\n";
        for (var output : new String[] {
            noise + COMPLETE + noise,
            COMPLETE.replace("\n", "\n" + noise),
            "no end of line" + COMPLETE + "no end of line",
            "\0\u00ff\r\n" + COMPLETE.replace("\n", "\n\0")
        }) {
            assertThat(json(AgentOutput.parse(output, NONCE))).as(output).isEqualTo(JSON);
            assertThat(AgentOutput.parse(output, NONCE).begun()).as(output).hasSize(2);
        }
    }

    @Test
    void truncatedAnswerIsMissing() throws Exception {
        for (var length = 0; length < COMPLETE.length(); length++) {
            assertThat(AgentOutput.parse(COMPLETE.substring(0, length), NONCE).json())
                    .as("%d bytes of it", length)
                    .isNull();
        }
    }

    @Test
    void answerWithoutItsBeginningIsNotRead() {
        for (var start = 1; start < ANSWER.length() - 1; start++) {
            var cut = "@5f0c " + ANSWER.substring(Math.max(start, "@5f0c ".length() + 1));
            assertThatThrownBy(() -> AgentOutput.parse(cut, NONCE)).isInstanceOf(LostAnswerException.class);
        }
    }

    @Test
    void anyChangedByteIsDetected() {
        for (var at = "@5f0c ".length(); at < ANSWER.length() - 1; at++) {
            var changed = ANSWER.substring(0, at) + (char) (ANSWER.charAt(at) ^ 1) + ANSWER.substring(at + 1);
            assertThatThrownBy(() -> AgentOutput.parse(changed, NONCE))
                    .as(changed)
                    .isInstanceOf(LostAnswerException.class);
        }
    }

    @Test
    void ignoresTheAnswerToAnotherRequest() throws Exception {
        var output = AgentOutput.parse(COMPLETE, "5f0d");
        assertThat(output.json()).isNull();
        assertThat(output.begun()).isEmpty();
    }

    @Test
    void refusesWhatFollowsTheAnswer() {
        for (var more : new String[] {ANSWER, "@5f0c begun 1\n", "@5f0c \n"}) {
            assertThatThrownBy(() -> AgentOutput.parse(ANSWER + more, NONCE))
                    .isInstanceOf(LostAnswerException.class)
                    .hasMessageEndingWith("it continues after its end");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"begun ", "begun x", "begun -1", "begun 1 2", "begun 9999999999", "{}", "{} ", "", "ended"})
    void refusesInvalidLines(String line) {
        assertThatThrownBy(() -> AgentOutput.parse("@5f0c " + line + "\n", NONCE))
                .isInstanceOf(LostAnswerException.class);
    }

    @Test
    void millionsOfMarksAreReadOnce() throws Exception {
        var marks = "@5f0c begun 1\n".repeat(1 << 20);
        assertThat(AgentOutput.parse(marks + ANSWER, NONCE).begun()).containsExactly(1);
        assertThat(AgentOutput.parse("@5f0c ".repeat(1 << 20), NONCE).json()).isNull();
    }

    private static String json(AgentOutput output) {
        return Objects.requireNonNull(output.json()).text();
    }

    // Why there is no answer.

    /** The code, the exit code, whether sudo is used, what sudo, a shell and Python print, and the message. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        SUDO_REFUSED | 1 | true | sudo: a password is required                                           | REFUSED
        SUDO_REFUSED | 1 | true | sudo: a terminal is required to read the password; use -S              | REFUSED
        SUDO_REFUSED | 1 | true | sudo: sorry, you must have a tty to run sudo                           | REFUSED
        SUDO_REFUSED | 1 | true | raz is not in the sudoers file.  This incident will be reported.       | REFUSED
        SUDO_REFUSED | 1 | true | Sorry, user raz is not allowed to execute 'python3' as root            | REFUSED
        SUDO_REFUSED | 1 | true | Sorry, user raz may not run sudo on gpu-1.                             | REFUSED
        SUDO_REFUSED | 1 | true | sudo: PAM account management error: Authentication failure             | REFUSED
        SUDO_REFUSED | 1 | true | sudo: effective uid is not 0, is it on a 'nosuid' file system          | REFUSED
        # of sudo-rs, as Ubuntu 25.10 has it
        SUDO_REFUSED | 1 | true | sudo: interactive authentication is required                           | REFUSED
        SUDO_REFUSED | 1 | true | sudo: I'm sorry svc. I'm afraid I can't do that                        | REFUSED
        SUDO_REFUSED | 1 | true | sudo-rs: /etc/sudoers:3:1: syntax error                                | REFUSED
        SUDO_REFUSED | 1 | true | sudo: /etc/sudoers is world writable                                   | REFUSED
        SUDO_REFUSED | 1 | true | sudo: error initializing audit plugin sudoers_audit                    | REFUSED
        # this one is a warning
        AGENT_FAILED | 3 | true | sudo: unable to resolve host gpu-1: Name or service not known          | exited with 3 before the agent began: sudo:
        AGENT_FAILED | 1 | false | sudo: a password is required | exited with 1 before the agent began: sudo:
        SUDO_MISSING | 127 | true | bash: line 1: sudo: command not found              | there is no sudo
        AGENT_MISSING | 127 | false | bash: /usr/bin/python3: No such file or directory | there is no PYTHON
        AGENT_MISSING | 127 | false | sh: 1: /usr/bin/python3: not found               | there is no PYTHON: sh
        AGENT_MISSING | 127 | false | ''                              | there is no PYTHON: it printed nothing
        AGENT_MISSING | 1 | true | sudo: /usr/bin/python3: command not found           | there is no PYTHON: sudo:
        AGENT_MISSING | 1 | true | SyntaxError: invalid syntax        | PYTHON is older than Python 3.6:
        AGENT_MISSING | 1 | true | Python 3.5 is too old              | PYTHON is older than Python 3.6:
        AGENT_MISSING | 1 | true | Unknown option: -I                 | PYTHON is older than Python 3.6:
        AGENT_FAILED | 3 | true | MemoryError                         | exited with 3 before the agent began: MemoryError
        ANSWER_UNREADABLE | 0 | true | ''                             | its answer cannot be read: the end of it is missing
        """)
    void reportsWhyThereIsNoAnswer(ProblemCode code, int exitCode, boolean sudo, String errors, String message) {
        for (var printed : List.of(errors, "Welcome to gpu-1\n" + errors + "\nusage: ")) {
            if (errors.isEmpty() && !printed.isEmpty()) {
                continue;
            }
            var failure = AgentFailure.of(new CommandResult("", printed, exitCode, null), sudo, false);
            assertThat(failure.code()).as(printed).isEqualTo(code);
            var full = message.replace("PYTHON", "/usr/bin/python3")
                    .replace("REFUSED", "NOPASSWD: /usr/bin/python3 in sudoers: ");
            assertThat(failure).hasMessageContaining(printed.equals(errors) ? full : "Welcome");
        }
    }

    /** On standard output the agent prints nothing for people, and what it prints ends a guess about the login. */
    @Test
    void reportsWhatALoginShellSaysOnStandardOutput() {
        var refused = new CommandResult("This account is currently not available.\n", "", 1, null);
        assertThat(AgentFailure.of(refused, true, false))
                .hasMessage(
                        "the command of the login exited with 1 before the agent began: This account is currently not"
                                + " available.")
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.AGENT_FAILED);
        var began = new CommandResult("@5f0c received\n", "sudo: unexpected child termination", 1, null);
        assertThat(AgentFailure.of(began, true, true))
                .hasMessage("/usr/bin/python3 on the machine exited with 1: sudo: unexpected child termination")
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.AGENT_FAILED);
    }

    @Test
    void reportsWhyTheCommandWasInterrupted() {
        var interruption = new UnreachableException(ProblemCode.TIMEOUT, "it took longer than 10 s");
        var result = new CommandResult("", "sudo: a password is required", null, interruption);
        var failure = AgentFailure.of(result, true, false);
        assertThat(failure.code()).isEqualTo(ProblemCode.TIMEOUT);
        assertThat(failure).hasMessage("it took longer than 10 s");
        assertThat(AgentFailure.of(new CommandResult("garbage", "", null, null), true, false)
                        .code())
                .isEqualTo(ProblemCode.ANSWER_UNREADABLE);
    }

    @Test
    void errorsAreTruncatedAndEscaped() {
        var result = new CommandResult("", "\u001b[2J\u0007" + "x".repeat(5000), 1, null);
        assertThat(AgentFailure.of(result, true, false).getMessage())
                .hasSizeLessThan(400)
                .doesNotContain("\u001b")
                .contains("\\u001b[2J");
    }
}
