package dev.genv.enforcer.observation;

import org.jspecify.annotations.Nullable;

/** The GPU tool gave no answer that can be used. */
public final class ToolException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String code;

    public ToolException(String message) {
        this("gpu_tool_failed", message, null);
    }

    public ToolException(String message, Throwable cause) {
        this("gpu_tool_failed", message, cause);
    }

    public ToolException(String code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** The word for programs. */
    public String code() {
        return code;
    }
}
