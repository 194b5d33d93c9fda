package dev.genv.enforcer.remote.genv;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.CommandResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GenvFailureTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1   | sudo: a password is required                                | SUDO_REFUSED  | false | NOPASSWD",
                "1   | sudo: a terminal is required to read the password           | SUDO_REFUSED  | false | NOPASSWD",
                "1   | sudo: sorry, you must have a tty to run sudo                | SUDO_REFUSED  | false | NOPASSWD",
                "1   | raz is not in the sudoers file.                             | SUDO_REFUSED  | false | NOPASSWD",
                "1   | Sorry, user raz is not allowed to execute '/usr/bin/genv usage snapshot' as root on gpu-1. | SUDO_REFUSED | false | NOPASSWD",
                "1   | sudo: sorry, you are not allowed to set the following environment variables: GENV_TMPDIR    | SUDO_REFUSED | false | env_keep",
                "1   | sudo: genv: command not found                               | AGENT_MISSING | false | secure_path",
                "127 | env: 'genv': No such file or directory                      | AGENT_MISSING | false | No such file",
                "127 | bash: genv: command not found                               | AGENT_MISSING | false | not found",
                "127 | env: 'sudo': No such file or directory                      | SUDO_REFUSED  | false | REMOTE_SUDO=false",
                "1   | No available devices                                        | AGENT_FAILED  | true  | genv exited with 1: No available devices",
                "2   | usage: genv [-h] SUBCOMMAND                                 | AGENT_FAILED  | true  | genv exited with 2: usage",
                "137 | ''                                                          | AGENT_FAILED  | true  | genv exited with 137: it printed nothing",
                "1   | I am not allowed to set anything                            | AGENT_FAILED  | true  | genv exited with 1",
            })
    void namesTheFailureAndTheRemedy(int exitCode, String errors, ProblemCode code, boolean begun, String detail) {
        var failure = GenvFailure.of(new CommandResult("", errors + "\n", exitCode, null))
                .orElseThrow();
        assertThat(failure.code()).isEqualTo(code);
        assertThat(failure.begun()).isEqualTo(begun);
        assertThat(failure.detail()).contains(detail);
        assertThat(failure.asException().code()).isEqualTo(code);
    }

    @Test
    void exitCodeZeroIsNoFailureDespiteErrors() {
        assertThat(GenvFailure.of(new CommandResult("", "sudo: a password is required", 0, null)))
                .isEmpty();
    }

    @Test
    void interruptedCommandKeepsItsReason() {
        assertThat(GenvFailure.of(new CommandResult(
                        "{}", "x", null, new CommandResult.Interruption(ProblemCode.TIMEOUT, "after 10 s"))))
                .contains(new GenvFailure(ProblemCode.TIMEOUT, "after 10 s", true));
        assertThat(GenvFailure.of(new CommandResult("", "", null, null))
                        .orElseThrow()
                        .code())
                .isEqualTo(ProblemCode.AGENT_FAILED);
    }

    @Test
    void reportsTheLastLineOfATraceback() {
        var errors = "Traceback (most recent call last):\n  File \"/usr/bin/genv\", line 8\nKeyError: 'GPU-1'\n\n";
        assertThat(GenvFailure.of(new CommandResult("", errors, 1, null))
                        .orElseThrow()
                        .detail())
                .isEqualTo("genv exited with 1: KeyError: 'GPU-1'");
    }

    @Test
    void errorsAreTruncatedAndEscaped() {
        var errors = "\n  \n\u001b[2J" + "x".repeat(5000);
        assertThat(GenvFailure.of(new CommandResult("", errors, 1, null))
                        .orElseThrow()
                        .detail())
                .hasSizeLessThan(250)
                .doesNotContain("\u001b")
                .contains("xxx");
    }
}
