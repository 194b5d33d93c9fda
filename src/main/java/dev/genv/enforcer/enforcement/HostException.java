package dev.genv.enforcer.enforcement;

/** A host that gave no answer. */
final class HostException extends Exception {
    private static final long serialVersionUID = 1L;

    HostException(String message) {
        super(message);
    }

    HostException(String message, Throwable cause) {
        super(message, cause);
    }
}
