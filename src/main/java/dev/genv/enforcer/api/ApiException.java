package dev.genv.enforcer.api;

/** A request that gets an error for its answer. */
final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int status;

    private ApiException(int status, String detail) {
        super(detail);
        this.status = status;
    }

    static ApiException badRequest(String detail) {
        return new ApiException(400, detail);
    }

    static ApiException notFound(String detail) {
        return new ApiException(404, detail);
    }

    static ApiException tooLarge(String detail) {
        return new ApiException(413, detail);
    }

    static ApiException tooSlow(String detail) {
        return new ApiException(408, detail);
    }

    static ApiException notYet(String detail) {
        return new ApiException(503, detail);
    }

    int status() {
        return status;
    }
}
