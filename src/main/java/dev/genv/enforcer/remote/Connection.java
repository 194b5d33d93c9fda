package dev.genv.enforcer.remote;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a machine that stays open between requests. It keeps a program running that answers one request after
 * the other.
 */
public interface Connection extends AutoCloseable {
    /**
     * Sends a request. The program is started if it does not run. It is started once more if it had ended before it received the
     * request, or if the connection was lost with it and the request is repeatable.
     *
     * @return the output up to the answer, or all of it if there is no answer
     * @throws UnreachableException if the request cannot have reached the machine
     * @throws InterruptedException if the service no longer waits for the answer
     */
    CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException;

    /** Ends the program, so that the next request starts it again. */
    void stop() throws InterruptedException;

    /** Closes the connection for good, and aborts what runs over it. */
    @Override
    void close();

    /**
     * The result of a command or of a request to a program.
     *
     * @param output its standard output so far, one char for each byte (ISO-8859-1), so that no byte is lost
     * @param errors the beginning of its standard error; untrusted, like the output
     * @param exitCode null if the command was aborted, or if a program answered and goes on running
     * @param interruption why the command was aborted, with the reason as a clause; null if it exited or answered
     */
    record CommandResult(
            String output,
            String errors,
            @Nullable Integer exitCode,
            @Nullable UnreachableException interruption) {
        /** After other interruptions the command may continue. */
        private static final Set<ProblemCode> ENDED = Set.of(ProblemCode.AGENT_KILLED, ProblemCode.NO_EXIT_CODE);

        /** Whether nothing more is done on the machine for the command or the request, and the output is complete. */
        public boolean hasEnded() {
            return interruption == null || ENDED.contains(interruption.code());
        }
    }

    /**
     * A request to a program that keeps running on a machine. The program prints {@code mark} before anything else that it prints about
     * the request; the line in which <code>{</code> follows the mark is the answer.
     *
     * @param command the command line that starts the program, for the shell of the login
     * @param program the beginning of its standard input, in UTF-8
     * @param line what follows for this request, with the end of the line
     * @param mark a text that no other program can print
     * @param isRepeatable whether the machine may receive the request twice
     * @param timeout the time limit of the answer, the start included
     * @param maxOutput the number of bytes of output that are accepted; one more aborts the program
     */
    record ProgramRequest(
            String command,
            String program,
            String line,
            String mark,
            boolean isRepeatable,
            Duration timeout,
            int maxOutput) {
        /** Whether the same running program can answer another request. */
        public boolean hasProgramOf(ProgramRequest other) {
            return command.equals(other.command) && program.equals(other.program) && maxOutput == other.maxOutput;
        }
    }
}
