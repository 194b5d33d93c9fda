package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.ProblemCode;

/** A host did not answer, or its answer cannot be believed: nothing is known of it at this moment. */
public final class UnreachableException extends Exception {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;

    /**
     * Says so.
     */
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
