package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentFailure;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AgentFailureTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "sudo: a password is required",
                "sudo: a terminal is required to read the password; either use the -S option\nsudo: a password is required",
                "sudo: sorry, you must have a tty to run sudo",
                "raz is not in the sudoers file.  This incident will be reported.",
                "Sorry, user raz is not allowed to execute '/usr/bin/python3 -I -S -' as root on gpu-1.",
                "Sorry, user raz may not run sudo on gpu-1.",
                "sudo: PAM account management error: Authentication failure",
                "sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set"
            })
    void reportsRefusedSudoAndTheRemedy(String errors) {
        var failure = AgentFailure.of(exited(1, errors), true);
        assertThat(failure.code()).isEqualTo(ProblemCode.SUDO_REFUSED);
        assertThat(failure)
                .hasMessageContaining("NOPASSWD: /usr/bin/python3 in sudoers")
                .hasMessageContaining(errors.substring(0, 15));
        assertThat(AgentFailure.of(exited(1, errors), false).code()).isEqualTo(ProblemCode.AGENT_FAILED);
    }

    @Test
    void reportsMissingSudo() {
        assertThat(AgentFailure.of(exited(127, "bash: line 1: sudo: command not found"), true)
                        .code())
                .isEqualTo(ProblemCode.SUDO_MISSING);
    }

    @Test
    void reportsMissingPython() {
        for (var result : new CommandResult[] {
            exited(127, "bash: line 1: /usr/bin/python3: No such file or directory"),
            exited(127, "sh: 1: /usr/bin/python3: not found"),
            exited(127, "")
        }) {
            assertThat(AgentFailure.of(result, false).code()).isEqualTo(ProblemCode.AGENT_MISSING);
        }
        var failure = AgentFailure.of(exited(1, "sudo: /usr/bin/python3: command not found"), true);
        assertThat(failure.code()).isEqualTo(ProblemCode.AGENT_MISSING);
        assertThat(failure).hasMessageStartingWith("there is no /usr/bin/python3: sudo: ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "  File \"<stdin>\", line 7\n    f''\n     ^\nSyntaxError: invalid syntax\n",
                "Python 3.5 is too old\n",
                "Unknown option: -I\nusage: /usr/bin/python3 [option] ... [-c cmd | -m mod | file | -] [arg] ..."
            })
    void reportsOldPython(String errors) {
        var failure = AgentFailure.of(exited(1, errors), true);
        assertThat(failure.code()).isEqualTo(ProblemCode.AGENT_MISSING);
        assertThat(failure).hasMessageStartingWith("/usr/bin/python3 is older than Python 3.6: ");
    }

    @Test
    void reportsTheExitCodeAndTheErrors() {
        var failure = AgentFailure.of(exited(3, "MemoryError\n"), true);
        assertThat(failure.code()).isEqualTo(ProblemCode.AGENT_FAILED);
        assertThat(failure).hasMessage("/usr/bin/python3 on the machine exited with 3: MemoryError");
    }

    @Test
    void reportsWhyTheCommandWasInterrupted() {
        var interruption = new CommandResult.Interruption(ProblemCode.TIMEOUT, "it took longer than 10 s");
        var result = new CommandResult("", "sudo: a password is required", null, interruption);
        var failure = AgentFailure.of(result, true);
        assertThat(failure.code()).isEqualTo(ProblemCode.TIMEOUT);
        assertThat(failure).hasMessage("it took longer than 10 s");
    }

    @Test
    void outputWithoutAnAnswerIsUnreadable() {
        assertThat(AgentFailure.of(exited(0, ""), true).code()).isEqualTo(ProblemCode.ANSWER_UNREADABLE);
        assertThat(AgentFailure.of(new CommandResult("garbage", "", null, null), true)
                        .code())
                .isEqualTo(ProblemCode.ANSWER_UNREADABLE);
    }

    @Test
    void errorsAreTruncatedAndEscaped() {
        var failure = AgentFailure.of(exited(1, "\u001b[2J\u0007" + "x".repeat(5000)), true);
        assertThat(failure.getMessage())
                .hasSizeLessThan(400)
                .doesNotContain("\u001b")
                .contains("\\u001b[2J");
    }

    private static CommandResult exited(int code, String errors) {
        return new CommandResult("garbage", errors, code, null);
    }
}
