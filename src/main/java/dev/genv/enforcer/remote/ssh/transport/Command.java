package dev.genv.enforcer.remote.ssh.transport;

import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.ssh.transport.SshSession.NotOpenedException;

/** One command, from the opening of its channel to its exit. */
final class Command {
    private final ExecChannel channel;
    private final CommandRequest request;

    Command(ExecChannel channel, CommandRequest request) {
        this.channel = channel;
        this.request = request;
    }

    /** Runs the command. */
    CommandResult run() throws NotOpenedException, InterruptedException {
        channel.expectOutput();
        channel.open(request.input(), true, request.timeout());
        var inTime = channel.await(request.timeout(), () -> false);
        return channel.end(inTime, request.timeout(), "exit");
    }
}
