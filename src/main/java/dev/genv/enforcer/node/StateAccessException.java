package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Problem;

/** Nothing can be done in the state directory at this moment. */
final class StateAccessException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient Problem problem;

    StateAccessException(Problem problem) {
        super(problem.detail());
        this.problem = problem;
    }

    Problem problem() {
        return problem;
    }
}
