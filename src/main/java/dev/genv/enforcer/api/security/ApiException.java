package dev.genv.enforcer.api.security;

/** An error response to a request. */
public final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;

    private ApiException(int status, String detail) {
        super(detail);
        this.status = status;
    }

    public static ApiException badRequest(String detail) {
        return new ApiException(400, detail);
    }

    public static ApiException notFound(String detail) {
        return new ApiException(404, detail);
    }

    public static ApiException conflict(String detail) {
        return new ApiException(409, detail);
    }

    public static ApiException contentTooLarge(String detail) {
        return new ApiException(413, detail);
    }

    public static ApiException requestTimeout(String detail) {
        return new ApiException(408, detail);
    }

    public static ApiException serviceUnavailable(String detail) {
        return new ApiException(503, detail);
    }

    public int status() {
        return status;
    }
}
