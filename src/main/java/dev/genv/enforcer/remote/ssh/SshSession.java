package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.Session;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import org.jspecify.annotations.Nullable;

/** An authenticated session with a machine, and the program that runs over it. */
final class SshSession implements AutoCloseable {
    private final Session session;
    private final Transport transport;
    private @Nullable RemoteProgram program;

    SshSession(Session session, Transport transport) {
        this.session = session;
        this.transport = transport;
    }

    Transport transport() {
        return transport;
    }

    /** Whether the session is connected, as far as JSch knows. */
    boolean isUp() {
        return session.isConnected() && !transport.isClosed();
    }

    /**
     * Sends a request to a program, which is started if it does not run. Afterwards the session is closed if the program may
     * continue without having answered, or the connection may be lost without notice.
     *
     * @throws UnreachableException if the request can be sent over another session, because this one is unusable
     */
    CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
        CommandResult result = null;
        try {
            result = answer(request);
            return result;
        } finally {
            if (result == null || !result.hasEnded()) {
                close();
            }
        }
    }

    private CommandResult answer(ProgramRequest request) throws UnreachableException, InterruptedException {
        if (program != null && program.canAnswer(request)) {
            var result = program.request(request);
            var interruption = result.interruption();
            if (result.output().contains(request.mark())) {
                return result;
            }
            // It may have been lost long before a request shows it, for example if the machine was switched off.
            if (request.isRepeatable() && interruption != null && interruption.code() == ProblemCode.CONNECTION_LOST) {
                throw new UnreachableException(ProblemCode.SSH_FAILED, "the connection is lost");
            }
            if (!result.hasEnded()) {
                return result;
            }
            // The program certainly ended before it received the request, so that another one can receive it.
        }
        stop();
        program = new RemoteProgram(this, openChannel(), request);
        return program.request(request);
    }

    /** Ends the program. */
    void stop() throws InterruptedException {
        if (program != null) {
            program.close();
            program = null;
        }
    }

    private ChannelExec openChannel() throws UnreachableException {
        try {
            if (session.openChannel("exec") instanceof ChannelExec channel) {
                return channel;
            }
        } catch (JSchException _) {
            // the connection was lost in between
        }
        throw new UnreachableException(ProblemCode.SSH_FAILED, "the connection is lost");
    }

    @Override
    public void close() {
        transport.close();
    }
}
