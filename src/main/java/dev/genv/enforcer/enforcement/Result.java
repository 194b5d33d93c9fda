package dev.genv.enforcer.enforcement;

import org.jspecify.annotations.Nullable;

/**
 * What came of an action.
 *
 * @param detail why, where the outcome alone does not say it
 * @param unsure whether it may have been done all the same: the answer was lost
 */
public record Result(Outcome outcome, @Nullable String detail, boolean unsure) {
    /** One that is sure. */
    public Result(Outcome outcome, @Nullable String detail) {
        this(outcome, detail, false);
    }

    public static Result of(Outcome outcome) {
        return new Result(outcome, null);
    }

    public static Result failed(String detail) {
        return new Result(Outcome.FAILED, detail);
    }

    /** It was told to somebody whose answer was lost. */
    public static Result lost(String why) {
        return new Result(Outcome.FAILED, why + "; it may have been done", true);
    }
}
