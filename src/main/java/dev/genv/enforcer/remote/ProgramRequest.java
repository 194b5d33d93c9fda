package dev.genv.enforcer.remote;

import java.time.Duration;

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
public record ProgramRequest(
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
