package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;

/**
 * Something that the service needs and was not given.
 *
 * @param name a stable word, such as {@code SYS_PTRACE}
 * @param advice what cannot be done for want of it, and how to grant it
 */
public record MissingRight(String name, String advice) {
    public Problem problem() {
        return new Problem(ProblemCode.MISSING_PRIVILEGE, name + ": " + advice);
    }
}
