package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.CommandResult;
import java.util.regex.Pattern;

/** Says why the agent gave no answer, from the other output of its command. */
final class AgentFailure {
    private static final int NOT_FOUND = 127;
    private static final int LONGEST = 200;
    private static final Pattern SUDO_REFUSED = Pattern.compile(
            "password is required|terminal is required|must have a tty|not allowed to execute|may not run sudo"
                    + "|not in the sudoers file|not allowed to run sudo|sudo: .*(PAM|account validation|setuid|effective uid)");
    private static final Pattern PYTHON_MISSING =
            Pattern.compile(Pattern.quote(AgentProgram.PYTHON) + ": (command )?not found");
    /** What the program says, or an interpreter that does not know its language. */
    private static final Pattern PYTHON_TOO_OLD =
            Pattern.compile("(?m)^Python [0-9.]+ is too old$|^SyntaxError: |^Unknown option: -I");

    private static final String NOPASSWD =
            "sudo on the machine requires a password or refuses: allow USER ALL=(root) NOPASSWD: " + AgentProgram.PYTHON
                    + " in sudoers";

    private AgentFailure() {}

    /** Returns the failure that the agent itself reports. */
    static UnreachableException of(String reported) {
        return new UnreachableException(ProblemCode.AGENT_FAILED, SafeText.escape(reported, LONGEST));
    }

    static UnreachableException of(CommandResult result, boolean sudo) {
        var interruption = result.interruption();
        if (interruption != null) {
            return new UnreachableException(interruption.code(), interruption.detail());
        }
        var errors = result.errors();
        var printed = errors.isBlank() ? "it printed nothing" : SafeText.escape(errors.strip(), LONGEST);
        if (sudo && SUDO_REFUSED.matcher(errors).find()) {
            return new UnreachableException(ProblemCode.SUDO_REFUSED, NOPASSWD + ": " + printed);
        }
        var code = result.exitCode() == null ? 0 : result.exitCode();
        if (PYTHON_MISSING.matcher(errors).find() || (!sudo && code == NOT_FOUND)) {
            return new UnreachableException(
                    ProblemCode.AGENT_MISSING, "there is no " + AgentProgram.PYTHON + ": " + printed);
        }
        if (code == NOT_FOUND) {
            return new UnreachableException(
                    ProblemCode.SUDO_MISSING,
                    "there is no sudo (GENV_ENFORCER_REMOTE_SUDO=false if root logs in): " + printed);
        }
        if (PYTHON_TOO_OLD.matcher(errors).find()) {
            return new UnreachableException(
                    ProblemCode.AGENT_MISSING, AgentProgram.PYTHON + " is older than Python 3.6: " + printed);
        }
        return code != 0
                ? new UnreachableException(
                        ProblemCode.AGENT_FAILED,
                        "%s on the machine exited with %d: %s".formatted(AgentProgram.PYTHON, code, printed))
                : new UnreachableException(
                        ProblemCode.ANSWER_UNREADABLE,
                        "its answer cannot be read: the end of it is missing; " + printed);
    }
}
