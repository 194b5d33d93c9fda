package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.CommandResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShellFailureTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "sudo: a password is required",
                "sudo: a terminal is required to read the password; either use the -S option\nsudo: a password is required",
                "sudo: sorry, you must have a tty to run sudo",
                "raz is not in the sudoers file.  This incident will be reported.",
                "Sorry, user raz is not allowed to execute '/bin/sh' as root on gpu-1.",
                "Sorry, user raz may not run sudo on gpu-1.",
                "sudo: PAM account management error: Authentication failure",
                "sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set"
            })
    void reportsRefusedSudoAndTheRemedy(String errors) throws Exception {
        var failure = failure(new CommandResult("", errors, 1, null), true);
        assertThat(failure.code()).isEqualTo(ProblemCode.SUDO_REFUSED);
        assertThat(failure).hasMessageContaining("NOPASSWD: /bin/sh").hasMessageContaining(errors.substring(0, 15));
        assertThat(failure(new CommandResult("", errors, 1, null), false).code())
                .isEqualTo(ProblemCode.AGENT_FAILED);
    }

    @Test
    void reportsMissingSudo() throws Exception {
        var errors = "bash: line 1: sudo: command not found";
        assertThat(failure(new CommandResult("", errors, 127, null), true).code())
                .isEqualTo(ProblemCode.SUDO_MISSING);
        assertThat(failure(new CommandResult("", errors, 127, null), false).code())
                .isEqualTo(ProblemCode.AGENT_FAILED);
    }

    @Test
    void reportsWhyTheCommandWasInterrupted() throws Exception {
        var broken = new CommandResult.Interruption(ProblemCode.TIMEOUT, "it took longer than 10 s");
        var failure = failure(new CommandResult("", "sudo: a password is required", null, broken), true);
        assertThat(failure.code()).isEqualTo(ProblemCode.TIMEOUT);
        assertThat(failure).hasMessage("it took longer than 10 s");
    }

    @Test
    void answerWithoutEndIsUnreadable() throws Exception {
        assertThat(failure(new CommandResult("garbage", "", 0, null), true).code())
                .isEqualTo(ProblemCode.ANSWER_UNREADABLE);
        assertThat(failure(new CommandResult("garbage", "", null, null), true).code())
                .isEqualTo(ProblemCode.ANSWER_UNREADABLE);
    }

    @Test
    void namesMissingPrograms() throws Exception {
        var answer = new CommandResult("@5f0c lacks flock\n@5f0c lacks timeout\n@5f0c end 3\n", "", 0, null);
        var failure = failure(answer, true);
        assertThat(failure.code()).isEqualTo(ProblemCode.AGENT_MISSING);
        assertThat(failure).hasMessage("there is no flock, no timeout");
    }

    @Test
    void errorsAreTruncatedAndEscaped() throws Exception {
        var failure = failure(new CommandResult("", "\u001b[2J\u0007" + "x".repeat(5000), 1, null), true);
        assertThat(failure.getMessage())
                .hasSizeLessThan(400)
                .doesNotContain("\u001b")
                .contains("\\u001b[2J");
    }

    private static dev.genv.enforcer.enforcement.host.UnreachableException failure(CommandResult answer, boolean sudo)
            throws Exception {
        return new Shell.AgentReply("5f0c", answer, sudo).failure();
    }
}
