package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.problem.ProblemCode;

/** A host gave no answer. */
public final class HostException extends Exception {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;

    public HostException(String message) {
        this(ProblemCode.UNREACHABLE, message);
    }

    HostException(ProblemCode code, String message) {
        super(message);
        this.code = code;
    }

    HostException(String message, Throwable cause) {
        super(message, cause);
        this.code = cause instanceof UnreachableException known ? known.code() : ProblemCode.UNREACHABLE;
    }

    ProblemCode code() {
        return code;
    }
}
