package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.CommandResult;
import java.util.ArrayList;
import java.util.regex.Pattern;

/** Says why a shell did not do what it was told, from what it said instead. */
final class ShellFailure {
    private static final int NOT_FOUND = 127;
    private static final int LONGEST = 200;
    private static final Pattern REFUSED = Pattern.compile(
            "password is required|terminal is required|must have a tty|not allowed to execute|may not run sudo"
                    + "|not in the sudoers file|not allowed to run sudo|sudo: .*(PAM|account validation|setuid|effective uid)");
    private static final String NOPASSWD =
            "sudo on the machine requires a password or refuses: allow USER ALL=(root) NOPASSWD: /bin/sh in sudoers";

    private ShellFailure() {}

    static UnreachableException of(Shell.AgentReply said) throws UnreachableException {
        var lacking = new ArrayList<String>();
        for (var frame : said.frames().every("lacks")) {
            lacking.add(frame.from(0));
        }
        return lacking.isEmpty()
                ? of(said.answer(), said.sudo())
                : new UnreachableException(ProblemCode.AGENT_MISSING, "there is no " + String.join(", no ", lacking));
    }

    private static UnreachableException of(CommandResult answer, boolean sudo) {
        var broken = answer.interruption();
        if (broken != null) {
            return new UnreachableException(broken.code(), broken.detail());
        }
        var errors = answer.errors();
        var said = errors.isBlank() ? "it printed nothing" : SafeText.escape(errors.strip(), LONGEST);
        if (sudo && REFUSED.matcher(errors).find()) {
            return new UnreachableException(ProblemCode.SUDO_REFUSED, NOPASSWD + ": " + said);
        }
        var code = answer.exitCode();
        if (sudo && code != null && code == NOT_FOUND) {
            return new UnreachableException(
                    ProblemCode.SUDO_MISSING,
                    "there is no sudo (GENV_ENFORCER_REMOTE_SUDO=false if root logs in): " + said);
        }
        return code != null && code != 0
                ? new UnreachableException(
                        ProblemCode.AGENT_FAILED, "/bin/sh on the machine exited with %d: %s".formatted(code, said))
                : new UnreachableException(
                        ProblemCode.ANSWER_UNREADABLE, "its answer cannot be read: the end of it is missing; " + said);
    }
}
