package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import org.jspecify.annotations.Nullable;

/** The answer of an agent is invalid. The message is a clause for people. */
public final class UnreadableAnswerException extends Exception {
    private static final long serialVersionUID = 1L;

    UnreadableAnswerException(String why, @Nullable Throwable cause) {
        super(why, cause);
    }

    public UnreadableAnswerException(String why) {
        this(why, null);
    }

    public UnreachableException unreachable() {
        return new UnreachableException(
                ProblemCode.ANSWER_UNREADABLE, "its answer cannot be read: " + getMessage(), this);
    }
}
