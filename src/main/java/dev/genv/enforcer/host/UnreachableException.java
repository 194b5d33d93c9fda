package dev.genv.enforcer.host;

import dev.genv.enforcer.model.ProblemCode;

/** A host gave no answer or no valid one: nothing is known of it in this cycle. */
public class UnreachableException extends Exception {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;

    public UnreachableException(ProblemCode code, String message) {
        super(message);
        this.code = code;
    }

    public UnreachableException(ProblemCode code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    public ProblemCode code() {
        return code;
    }
}
