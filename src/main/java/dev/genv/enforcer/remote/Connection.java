package dev.genv.enforcer.remote;

/** A command runner whose connection stays open between commands. */
public interface Connection extends CommandRunner, AutoCloseable {
    /** Closes the connection for good, and aborts a running command. */
    @Override
    void close();
}
