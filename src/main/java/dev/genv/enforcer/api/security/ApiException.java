package dev.genv.enforcer.api.security;

/** An error response to a request. */
public final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;

    /** Creates an error with a status of HTTP, and what was wrong with the request. */
    public ApiException(int status, String detail) {
        super(detail);
        this.status = status;
    }

    public int status() {
        return status;
    }
}
