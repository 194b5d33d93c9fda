package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;

/**
 * A privilege that the service needs and does not have.
 *
 * @param name a stable word, such as {@code SYS_PTRACE}
 * @param advice what the service cannot do without it, and how to grant it
 */
public record MissingPrivilege(String name, String advice) {
    public Problem problem() {
        return new Problem(ProblemCode.MISSING_PRIVILEGE, name + ": " + advice);
    }
}
