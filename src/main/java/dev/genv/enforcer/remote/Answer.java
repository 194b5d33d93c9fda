package dev.genv.enforcer.remote;

import dev.genv.enforcer.model.ProblemCode;
import org.jspecify.annotations.Nullable;

/**
 * What a command came to.
 *
 * @param output what it said by then, a char a byte (ISO-8859-1), so that nothing of it is lost
 * @param errors the beginning of what it said on standard error; hostile, like the output
 * @param exitCode null where it did not come to its end
 * @param broken why it was broken off; null where it came to its end
 */
public record Answer(
        String output,
        String errors,
        @Nullable Integer exitCode,
        @Nullable Broken broken) {

    /**
     * Why it came to no end.
     *
     * @param detail a clause for people
     */
    public record Broken(ProblemCode code, String detail) {}
}
