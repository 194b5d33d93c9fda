package dev.genv.enforcer.enforcement;

/** A host that gave no answer. */
final class HostException extends Exception {
    private static final long serialVersionUID = 1L;

    /** Of a host that was left out of a cycle, for it still does what an earlier one asked of it. */
    static final String BUSY = "busy";

    private final String code;

    HostException(String message) {
        this("unreachable", message);
    }

    HostException(String code, String message) {
        super(message);
        this.code = code;
    }

    HostException(String message, Throwable cause) {
        super(message, cause);
        this.code = cause instanceof UnreachableException known ? known.code() : "unreachable";
    }

    /** The word for programs. */
    String code() {
        return code;
    }
}
