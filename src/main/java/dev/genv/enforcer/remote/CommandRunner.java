package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.host.UnreachableException;

/** Runs commands on a machine, one at a time. */
public interface CommandRunner {
    /**
     * Runs a command.
     *
     * @return the result, also if the command was aborted
     * @throws UnreachableException if the command cannot have reached the machine
     * @throws InterruptedException if the service no longer waits for the result
     */
    CommandResult run(CommandRequest request) throws UnreachableException, InterruptedException;
}
