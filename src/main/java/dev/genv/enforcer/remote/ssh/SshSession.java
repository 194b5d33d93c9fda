package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.Session;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import org.jspecify.annotations.Nullable;

/** An authenticated session with a machine. */
public final class SshSession implements AutoCloseable {
    private final Session session;
    private final AbortHandle abortHandle;
    private final UnsolicitedDataLimit unsolicitedDataLimit;
    private @Nullable Program program;

    /** A command that keeps running and answers one request after the other. */
    private record Program(ExecChannel channel, ProgramRequest first) {}

    SshSession(Session session, AbortHandle abortHandle, UnsolicitedDataLimit unsolicitedDataLimit) {
        this.session = session;
        this.abortHandle = abortHandle;
        this.unsolicitedDataLimit = unsolicitedDataLimit;
    }

    UnsolicitedDataLimit unsolicitedDataLimit() {
        return unsolicitedDataLimit;
    }

    /** Whether the session is connected, as far as JSch knows. */
    boolean isUp() {
        return session.isConnected() && !abortHandle.isAborted();
    }

    /**
     * Sends a request to a program, which is started if it does not run.
     *
     * @throws NotOpenedException if the request can be sent over another session, because this one is unusable
     */
    CommandResult request(ProgramRequest request) throws NotOpenedException, InterruptedException {
        unsolicitedDataLimit.renew();
        var running = program;
        if (running != null && running.channel.isOpen() && request.hasProgramOf(running.first)) {
            running.channel.send(request.line());
            var result = running.channel.receive(request);
            var interruption = result.interruption();
            if (result.output().contains(request.mark())) {
                return result;
            }
            // It may have been lost long before a request shows it, for example if the machine was switched off.
            if (request.isRepeatable() && interruption != null && interruption.code() == ProblemCode.CONNECTION_LOST) {
                close();
                throw new NotOpenedException("the connection is lost", false);
            }
            if (!result.hasEnded()) {
                return result;
            }
            // The program certainly ended before it received the request, so that another one can receive it.
        }
        stop();
        var channel = channel(request.command(), request.maxOutput());
        channel.open(request.program() + request.line(), request.timeout());
        program = new Program(channel, request);
        return channel.receive(request);
    }

    /** Ends the program. */
    void stop() throws InterruptedException {
        if (program != null) {
            program.channel.close();
            program = null;
        }
    }

    ExecChannel channel(String command, int maxOutput) throws NotOpenedException {
        try {
            if (isUp() && session.openChannel("exec") instanceof ChannelExec channel) {
                return new ExecChannel(this, channel, command, maxOutput);
            }
        } catch (JSchException _) {
            // the connection was lost in between
        }
        close();
        throw new NotOpenedException("the connection is lost", false);
    }

    @Override
    public void close() {
        abortHandle.abort();
    }

    /** The host has not received a command, because its channel could not be opened, or may receive a request again. */
    static final class NotOpenedException extends Exception {
        private static final long serialVersionUID = 1L;

        private final boolean late;

        NotOpenedException(String message, boolean late) {
            super(message);
            this.late = late;
        }

        /** Whether the time limit of the command has passed. */
        boolean isLate() {
            return late;
        }
    }
}
