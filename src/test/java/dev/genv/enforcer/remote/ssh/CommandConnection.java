package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;

/** A connection over which tests also run single commands. */
public record CommandConnection(SshConnection connection) implements Connection {
    public CommandConnection(Connection connection) {
        this((SshConnection) connection);
    }

    /** Runs a command as a program that never answers, and returns the result also if it was aborted. */
    public CommandResult run(CommandRequest request) throws UnreachableException, InterruptedException {
        return connection.request(new ProgramRequest(
                request.command(),
                "",
                request.input() + "\n",
                "no answer",
                false,
                request.timeout(),
                request.maxOutput()));
    }

    @Override
    public CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
        return connection.request(request);
    }

    @Override
    public void stop() throws InterruptedException {
        connection.stop();
    }

    @Override
    public void close() {
        connection.close();
    }
}
