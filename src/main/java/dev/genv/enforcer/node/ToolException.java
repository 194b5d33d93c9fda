package dev.genv.enforcer.node;

import org.jspecify.annotations.Nullable;

/** The GPU tool gave no answer that can be used. */
final class ToolException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String code;

    ToolException(String message) {
        this("gpu_tool_failed", message, null);
    }

    ToolException(String message, Throwable cause) {
        this("gpu_tool_failed", message, cause);
    }

    ToolException(String code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** The word for programs. */
    String code() {
        return code;
    }
}
