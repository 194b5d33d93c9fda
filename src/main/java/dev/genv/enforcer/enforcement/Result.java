package dev.genv.enforcer.enforcement;

import org.jspecify.annotations.Nullable;

/**
 * What came of an action.
 *
 * @param detail why, where the outcome alone does not say it
 */
public record Result(Outcome outcome, @Nullable String detail) {
    public static Result of(Outcome outcome) {
        return new Result(outcome, null);
    }

    public static Result failed(String detail) {
        return new Result(Outcome.FAILED, detail);
    }
}
