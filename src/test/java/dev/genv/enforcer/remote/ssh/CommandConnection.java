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

    /** Runs a command, and returns the result also if it was aborted. */
    public CommandResult run(CommandRequest request) throws UnreachableException, InterruptedException {
        return connection.call(session -> {
            session.unsolicitedDataLimit().renew();
            var channel = session.channel(request.command(), request.maxOutput());
            channel.expectOutput(true);
            channel.onItsOwnThread(
                    () -> channel.connect(request.input(), request.timeout()).close());
            var inTime = channel.await(request.timeout(), () -> false);
            return channel.end(inTime, request.timeout(), "exit");
        });
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
