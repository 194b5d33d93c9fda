package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.CommandResult;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Why a command of genv failed. genv exits with 0 after success, with 1 after an error, and with 2 for an unknown command.
 *
 * @param detail the reason for an administrator, as a clause
 * @param begun whether the command may have had an effect
 */
record GenvFailure(ProblemCode code, String detail, boolean begun) {
    private static final int LONGEST = 200;
    private static final int NOT_FOUND = 127;

    private static final Pattern NO_GENV = Pattern.compile("sudo: genv: command not found");
    private static final Pattern REFUSED = Pattern.compile(
            "sudo: .*(password is required|terminal is required|have a tty|not allowed to set|PAM|account validation)"
                    + "|(?i:sorry, )?user .* (is not allowed to execute|may not run sudo)"
                    + "|.* is not (in the sudoers file|allowed to run sudo).*");

    /** Returns the failure of a command; empty if it succeeded. */
    static Optional<GenvFailure> of(CommandResult answer) {
        var broken = answer.interruption();
        if (broken != null) {
            return Optional.of(new GenvFailure(broken.code(), broken.detail(), true));
        }
        var exitCode = answer.exitCode();
        if (exitCode == null) {
            return Optional.of(new GenvFailure(ProblemCode.AGENT_FAILED, "genv exited without an exit code", true));
        }
        return exitCode == 0 ? Optional.empty() : Optional.of(of(exitCode, answer.errors()));
    }

    private static GenvFailure of(int exitCode, String errors) {
        var refusal = line(errors, REFUSED.asPredicate());
        if (refusal.isPresent()) {
            return new GenvFailure(ProblemCode.SUDO_REFUSED, refusal.get() + "; " + advice(refusal.get()), false);
        }
        if (line(errors, NO_GENV.asPredicate()).isPresent()) {
            return new GenvFailure(
                    ProblemCode.AGENT_MISSING,
                    "genv is not in sudo's PATH on the machine (secure_path in sudoers)",
                    false);
        }
        if (exitCode == NOT_FOUND) {
            return errors.contains("sudo") && !errors.contains("genv")
                    ? new GenvFailure(
                            ProblemCode.SUDO_REFUSED, "there is no sudo: GENV_ENFORCER_REMOTE_SUDO=false", false)
                    : new GenvFailure(
                            ProblemCode.AGENT_MISSING,
                            "genv is not in the PATH of the machine: " + telling(errors),
                            false);
        }
        return new GenvFailure(
                ProblemCode.AGENT_FAILED, "genv exited with %d: %s".formatted(exitCode, telling(errors)), true);
    }

    UnreachableException asException() {
        return new UnreachableException(code, detail);
    }

    private static String advice(String refusal) {
        return refusal.contains("environment variables")
                ? "let it pass in sudoers: Defaults!/path/to/genv env_keep += \"GENV_TMPDIR\""
                : "allow it in sudoers: USER ALL=(root) NOPASSWD: /path/to/genv usage snapshot, /path/to/genv usage execute";
    }

    /** Returns the most informative line: the last one of a Python traceback, otherwise the first one. */
    private static String telling(String errors) {
        var first = line(errors, _ -> true).orElse("it printed nothing");
        return first.startsWith("Traceback")
                ? errors.lines()
                        .filter(line -> !line.isBlank())
                        .reduce((_, last) -> last)
                        .map(line -> SafeText.escape(line.strip(), LONGEST))
                        .orElse(first)
                : first;
    }

    private static Optional<String> line(String errors, Predicate<String> test) {
        return errors.lines()
                .filter(line -> !line.isBlank() && test.test(line))
                .findFirst()
                .map(line -> SafeText.escape(line.strip(), LONGEST));
    }
}
