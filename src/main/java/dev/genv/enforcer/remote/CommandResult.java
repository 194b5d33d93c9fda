package dev.genv.enforcer.remote;

import dev.genv.enforcer.model.ProblemCode;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The result of a command or of a request to a program.
 *
 * @param output its standard output so far, one char for each byte (ISO-8859-1), so that no byte is lost
 * @param errors the beginning of its standard error; untrusted, like the output
 * @param exitCode null if the command was aborted, or if a program answered and goes on running
 * @param interruption why the command was aborted; null if it exited or answered
 */
public record CommandResult(
        String output,
        String errors,
        @Nullable Integer exitCode,
        @Nullable Interruption interruption) {
    /** After other interruptions the command may continue. */
    private static final Set<ProblemCode> ENDED = Set.of(ProblemCode.AGENT_KILLED, ProblemCode.NO_EXIT_CODE);

    /** Whether nothing more is done on the machine for the command or the request, and the output is complete. */
    public boolean hasEnded() {
        return interruption == null || ENDED.contains(interruption.code());
    }

    /**
     * Why a command was aborted.
     *
     * @param detail the reason for an administrator, as a clause
     */
    public record Interruption(ProblemCode code, String detail) {}
}
