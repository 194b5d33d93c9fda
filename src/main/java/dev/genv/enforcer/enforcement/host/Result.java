package dev.genv.enforcer.enforcement.host;

import org.jspecify.annotations.Nullable;

/**
 * The result of an action.
 *
 * @param detail the reason, if the outcome alone does not say it
 * @param uncertain whether the action may have been executed although its answer was lost
 */
public record Result(Outcome outcome, @Nullable String detail, boolean uncertain) {
    /** The result of an action that was begun, as long as no other one is known. */
    public static final Result UNKNOWN = lost("the service was stopped before it knew the result");

    public Result(Outcome outcome, @Nullable String detail) {
        this(outcome, detail, false);
    }

    /** Whether the action had an effect, or may have had one. */
    public boolean mayHaveEffect() {
        return outcome.hasEffect() || uncertain;
    }

    public static Result of(Outcome outcome) {
        return new Result(outcome, null);
    }

    public static Result failed(String detail) {
        return new Result(Outcome.FAILED, detail);
    }

    public static Result lost(String why) {
        return new Result(Outcome.FAILED, why + "; it may have been executed", true);
    }
}
