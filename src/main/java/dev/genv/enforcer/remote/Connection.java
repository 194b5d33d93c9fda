package dev.genv.enforcer.remote;

/** A connection to a machine that stays open between commands. */
public interface Connection extends CommandRunner, ProgramRunner, AutoCloseable {
    /** Closes the connection for good, and aborts what runs over it. */
    @Override
    void close();
}
