package dev.genv.enforcer.node.state;

import dev.genv.enforcer.model.Problem;

/** The state directory cannot be accessed. */
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
