package dev.genv.enforcer.node;

/** The GPU tool gave no answer that can be used. */
final class ToolException extends Exception {
    private static final long serialVersionUID = 1L;

    ToolException(String message) {
        super(message);
    }

    ToolException(String message, Throwable cause) {
        super(message, cause);
    }
}
