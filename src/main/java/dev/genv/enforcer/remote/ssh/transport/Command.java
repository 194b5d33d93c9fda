package dev.genv.enforcer.remote.ssh.transport;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandResult.Interruption;
import dev.genv.enforcer.remote.ssh.transport.SshSession.NotOpenedException;
import dev.genv.enforcer.remote.ssh.transport.socket.PacketSizeLimit;
import dev.genv.enforcer.remote.ssh.transport.time.Deadline;
import dev.genv.enforcer.remote.ssh.transport.time.TimedCall;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** One command, from the opening of its channel to its exit. */
final class Command {
    private static final int MAX_ERROR_BYTES = 4 << 10;
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
    private static final Duration TIME_TO_CLOSE = Duration.ofMillis(500);
    private static final int LONGEST_NAME = 20;

    private final SshSession session;
    private final ChannelExec channel;
    private final CommandRequest request;
    private final CountDownLatch finished = new CountDownLatch(1);
    private final CapturedOutput output;
    private final CapturedOutput errors;
    private volatile boolean ended;
    private volatile @Nullable Throwable failure;

    Command(SshSession session, ChannelExec channel, CommandRequest request) {
        this.session = session;
        this.channel = channel;
        this.request = request;
        this.output = new CapturedOutput(
                request.maxOutput(), request.maxOutput(), finished::countDown, this::recordOutputEnd);
        // JSch closes this stream only with the channel, so the close shows that the command has ended.
        this.errors =
                new CapturedOutput(MAX_ERROR_BYTES, request.maxOutput(), finished::countDown, finished::countDown);
    }

    /** Runs the command. */
    CommandResult run() throws NotOpenedException, InterruptedException {
        channel.setCommand(request.command().getBytes(StandardCharsets.UTF_8));
        channel.setOutputStream(session.unsolicitedDataLimit().exclude(output));
        channel.setErrStream(session.unsolicitedDataLimit().exclude(errors));
        Thread.ofVirtual().name("ssh").start(this::begin);
        try {
            var inTime = awaitEnd();
            if (!PacketSizeLimit.isKnown(channel)) {
                session.close();
                throw new NotOpenedException("it opens no channel for a command", !inTime);
            }
            return answer(inTime);
        } catch (InterruptedException e) {
            session.close();
            throw e;
        }
    }

    /** Runs on its own thread: opening the channel and writing the input wait for the host despite JSch's time limits. */
    private void begin() {
        try {
            // A little longer than the limit of the command, which reports the timeout.
            channel.connect(Math.clamp(request.timeout().plusSeconds(1).toMillis(), 1, Integer.MAX_VALUE));
            PacketSizeLimit.limit(channel);
            try (var input = channel.getOutputStream()) {
                input.write(request.input().getBytes(StandardCharsets.UTF_8));
            }
        } catch (JSchException | IOException | RuntimeException e) {
            failure = e;
            // A command may exit before it has read its input; a command that never started has no exit.
            if (!channel.isClosed() || !PacketSizeLimit.isKnown(channel)) {
                finished.countDown();
            }
        }
    }

    private void recordOutputEnd() {
        // If the whole connection ends, the channel is no longer connected.
        ended = channel.isConnected();
    }

    private boolean awaitEnd() throws InterruptedException {
        var deadline = Deadline.in(request.timeout());
        while (!deadline.remaining().isZero()) {
            var pollNanos =
                    Math.min(POLL_INTERVAL.toNanos(), deadline.remaining().toNanos());
            // JSch does not report a connection that is lost while the channel is being opened.
            if (finished.await(pollNanos, TimeUnit.NANOSECONDS) || !session.isUp()) {
                return true;
            }
        }
        return false;
    }

    private CommandResult answer(boolean inTime) throws InterruptedException {
        if (output.isExceeded() || errors.isExceeded()) {
            closeChannel();
            return aborted(ProblemCode.ANSWER_TOO_LONG, "it printed more than " + request.maxOutput() + " bytes");
        }
        if (!inTime) {
            session.close(); // it may be lost without notice
            return aborted(
                    ProblemCode.TIMEOUT,
                    "it did not exit within " + request.timeout().toMillis() + " ms");
        }
        if (!ended && isLost()) {
            session.close();
            return aborted(ProblemCode.CONNECTION_LOST, "the connection was lost before the command ended");
        }
        if (channel.getExitStatus() >= 0) {
            return new CommandResult(output.text(), errors.text(), channel.getExitStatus(), null);
        }
        if (channel.getExitSignal() != null) {
            return aborted(
                    ProblemCode.AGENT_KILLED,
                    "it was terminated by signal " + SafeText.escape(channel.getExitSignal(), LONGEST_NAME));
        }
        if (!channel.isClosed()) {
            session.close();
            return aborted(
                    ProblemCode.SSH_FAILED,
                    "it could not be started: " + (failure == null ? "" : failure.getMessage()));
        }
        return aborted(ProblemCode.NO_EXIT_CODE, "it ended without an exit code");
    }

    /** JSch closes the channels before it marks the connection as lost. */
    private boolean isLost() throws InterruptedException {
        for (var polls = 0; polls < 20 && session.isUp(); polls++) {
            Thread.sleep(5);
        }
        return !session.isUp();
    }

    private void closeChannel() throws InterruptedException {
        session.unsolicitedDataLimit().allowRemaining();
        try {
            TimedCall.call(
                    TIME_TO_CLOSE,
                    () -> {
                        channel.disconnect();
                        return true;
                    },
                    session::close);
        } catch (TimeoutException | ExecutionException _) {
            session.close();
        }
    }

    private CommandResult aborted(ProblemCode code, String detail) {
        return new CommandResult(output.text(), errors.text(), null, new Interruption(code, detail));
    }
}
