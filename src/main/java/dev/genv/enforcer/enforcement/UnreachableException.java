package dev.genv.enforcer.enforcement;

/** A host did not answer, or its answer cannot be believed: nothing is known of it at this moment. */
public final class UnreachableException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String code;

    /**
     * Says so.
     *
     * @param code a stable word for programs, such as {@code host_key_changed}
     */
    public UnreachableException(String code, String message) {
        super(message);
        this.code = code;
    }

    public UnreachableException(String code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** The word for programs. */
    public String code() {
        return code;
    }
}
