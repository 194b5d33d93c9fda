package dev.genv.enforcer.remote;

import dev.genv.enforcer.model.problem.ProblemCode;
import org.jspecify.annotations.Nullable;

/**
 * The result of a command.
 *
 * @param output its standard output so far, one char for each byte (ISO-8859-1), so that no byte is lost
 * @param errors the beginning of its standard error; untrusted, like the output
 * @param exitCode null if the command was aborted
 * @param interruption why the command was aborted; null if it exited
 */
public record CommandResult(
        String output,
        String errors,
        @Nullable Integer exitCode,
        @Nullable Interruption interruption) {

    /**
     * Why a command was aborted.
     *
     * @param detail the reason for an administrator, as a clause
     */
    public record Interruption(ProblemCode code, String detail) {}
}
