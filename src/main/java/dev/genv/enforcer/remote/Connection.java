package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.host.UnreachableException;

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
}
