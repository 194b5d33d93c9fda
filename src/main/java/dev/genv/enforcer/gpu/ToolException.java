package dev.genv.enforcer.gpu;

import dev.genv.enforcer.model.ProblemCode;
import org.jspecify.annotations.Nullable;

/** The GPU tool gave no valid answer. */
public final class ToolException extends Exception {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;

    public ToolException(String message) {
        this(ProblemCode.GPU_TOOL_FAILED, message, null);
    }

    public ToolException(String message, Throwable cause) {
        this(ProblemCode.GPU_TOOL_FAILED, message, cause);
    }

    public ToolException(ProblemCode code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    public ProblemCode code() {
        return code;
    }
}
