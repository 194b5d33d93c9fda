package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A program that keeps running on a machine and answers one request after the other: its exec channel, its output since the last
 * request, and how it ended.
 */
final class RemoteProgram {
    private static final int MAX_ERROR_BYTES = 4 << 10;
    /** What the host may send on a channel until it learns that the channel is closed: twice JSch's window. */
    private static final int MAX_IN_FLIGHT = 2 << 20;

    private static final int POLL_INTERVAL_MILLIS = 1_000;
    private static final Duration TIME_TO_CLOSE = Duration.ofMillis(500);
    private static final int LONGEST_NAME = 20;

    private final Transport transport;
    private final ChannelExec channel;
    private final ProgramRequest first;
    private final Output output;
    private final Output errors;
    private volatile @Nullable OutputStream input;
    private volatile @Nullable Throwable failure;
    private volatile boolean outputEnded;
    private volatile boolean isTooLong;
    private volatile boolean finished;

    /**
     * Creates a program; it starts with its first request.
     *
     * @param channel a channel that is not open yet
     */
    RemoteProgram(Transport transport, ChannelExec channel, ProgramRequest first) {
        this.transport = transport;
        this.channel = channel;
        this.first = first;
        // If the whole connection ends, the channel is no longer connected.
        output = new Output(first.maxOutput(), () -> outputEnded = channel.isConnected());
        // JSch closes this stream only with the channel, so the close shows that the program has ended.
        errors = new Output(MAX_ERROR_BYTES, this::finish);
        channel.setCommand(first.command().getBytes(StandardCharsets.UTF_8));
        channel.setOutputStream(output);
        channel.setErrStream(errors);
    }

    /** Whether the program runs, as far as is known, and is the one for a request. */
    boolean canAnswer(ProgramRequest request) {
        return !finished && input != null && transport.isUp() && request.hasProgramOf(first);
    }

    /**
     * Sends a request and waits for the answer, the end of the program, or the end of the time limit.
     *
     * @throws UnreachableException if the host has not opened the channel
     */
    CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
        clearOutput();
        // Output and errors; what a channel before this one sent may still be in flight.
        transport.expect(2L * request.maxOutput() + MAX_IN_FLIGHT);
        Thread.ofVirtual().name("ssh").start(() -> send(request));
        var answerStart = request.mark() + "{";
        var inTime = await(request.timeout(), answerStart);
        if (!PacketSizeLimit.isKnown(channel)) {
            throw new UnreachableException(
                    inTime ? ProblemCode.SSH_FAILED : ProblemCode.TIMEOUT, "it opens no channel for a command");
        }
        var answer = answer(answerStart);
        if (answer == null) {
            return end(inTime, request.timeout());
        }
        clearOutput();
        transport.expect(0);
        return new CommandResult(answer, "", null, null);
    }

    private synchronized void clearOutput() {
        output.clear();
        errors.clear();
    }

    /** Returns the output up to the answer; null without an answer. */
    private synchronized @Nullable String answer(String answerStart) {
        var end = output.findLine(answerStart);
        return end < 0 ? null : output.text.substring(0, end);
    }

    /** Opens the channel for the first request, and writes. Both may wait for the host despite JSch's time limits. */
    private void send(ProgramRequest request) {
        try {
            var stream = input;
            var text = request.line();
            if (stream == null) {
                // A little longer than the limit of the request, which reports the timeout.
                channel.connect(Math.clamp(request.timeout().plusSeconds(1).toMillis(), 1, Integer.MAX_VALUE));
                stream = PacketSizeLimit.output(channel);
                input = stream;
                text = request.program() + text;
            }
            stream.write(text.getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (JSchException | IOException | RuntimeException e) {
            failure = e;
            finish();
        }
    }

    private synchronized void finish() {
        finished = true;
        notifyAll();
    }

    /**
     * Waits until there is an answer, the channel is closed, or the time is over.
     *
     * @return whether the time was enough
     */
    private synchronized boolean await(Duration timeout, String answerStart) throws InterruptedException {
        var deadline = Deadline.in(timeout);
        while (output.findLine(answerStart) < 0 && !finished) {
            if (deadline.remaining().isZero()) {
                return false;
            }
            // JSch does not report a connection that is lost while the channel is being opened.
            if (!transport.isUp()) {
                return true;
            }
            wait(Math.min(POLL_INTERVAL_MILLIS, deadline.millis()));
        }
        return true;
    }

    /**
     * Returns how the program ended.
     *
     * @param inTime false if it neither exited nor answered within the time limit
     */
    private CommandResult end(boolean inTime, Duration timeout) throws InterruptedException {
        if (isTooLong) {
            return aborted(ProblemCode.ANSWER_TOO_LONG, "it printed more than " + first.maxOutput() + " bytes");
        }
        if (!inTime) {
            return aborted(ProblemCode.TIMEOUT, "it did not answer within %d ms".formatted(timeout.toMillis()));
        }
        if (!outputEnded && isLost()) {
            return aborted(ProblemCode.CONNECTION_LOST, "the connection was lost before the command ended");
        }
        if (channel.getExitStatus() >= 0) {
            return result(channel.getExitStatus(), null);
        }
        if (channel.getExitSignal() != null) {
            return aborted(
                    ProblemCode.AGENT_KILLED,
                    "it was terminated by signal " + SafeText.escape(channel.getExitSignal(), LONGEST_NAME));
        }
        if (!channel.isClosed()) {
            return aborted(
                    ProblemCode.SSH_FAILED,
                    "it could not be started: " + (failure == null ? "" : failure.getMessage()));
        }
        return aborted(ProblemCode.NO_EXIT_CODE, "it ended without an exit code");
    }

    private CommandResult aborted(ProblemCode code, String detail) {
        return result(null, new UnreachableException(code, detail));
    }

    private synchronized CommandResult result(@Nullable Integer exitCode, @Nullable UnreachableException interruption) {
        return new CommandResult(output.text.toString(), errors.text.toString(), exitCode, interruption);
    }

    /** JSch closes the channels before it marks the connection as lost. */
    private boolean isLost() throws InterruptedException {
        for (var polls = 0; polls < 20 && transport.isUp(); polls++) {
            Thread.sleep(5);
        }
        return !transport.isUp();
    }

    /** Closes the channel, or the whole session if the host does not answer. */
    void close() throws InterruptedException {
        transport.expect(MAX_IN_FLIGHT);
        try {
            Deadline.in(TIME_TO_CLOSE).call(Executors.callable(channel::disconnect, true), transport::close);
        } catch (TimeoutException | ExecutionException _) {
            transport.close();
        }
    }

    /**
     * The beginning of an output stream, with one char for each byte (ISO-8859-1). Writing never waits, because the
     * thread that reads the whole connection does it. A stream that becomes too long closes the session.
     */
    private final class Output extends OutputStream {
        private final StringBuilder text = new StringBuilder();
        private final int kept;
        private final Runnable onClose;
        private long received;
        private int lineStart;
        /** The line that begins at {@code lineStart} does not end before this index. */
        private int searched;

        Output(int kept, Runnable onClose) {
            this.kept = kept;
            this.onClose = onClose;
        }

        @Override
        public void write(int each) {
            write(new byte[] {(byte) each}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int length) {
            Objects.checkFromIndexSize(offset, length, source.length);
            synchronized (RemoteProgram.this) {
                received += length;
                var some = Math.min(length, kept - text.length());
                text.append(new String(source, offset, some, StandardCharsets.ISO_8859_1));
                if (received > first.maxOutput()) {
                    isTooLong = true;
                    transport.close();
                    finish();
                }
                RemoteProgram.this.notifyAll();
            }
        }

        @Override
        public void close() {
            onClose.run();
        }

        void clear() {
            text.setLength(0);
            text.trimToSize();
            received = 0;
            lineStart = 0;
            searched = 0;
        }

        /** Returns the index after the first complete line that contains a text, or -1. The search continues the one before. */
        int findLine(String part) {
            for (var end = text.indexOf("\n", searched); end >= 0; end = text.indexOf("\n", searched)) {
                if (text.substring(lineStart, end).contains(part)) {
                    return end + 1;
                }
                lineStart = end + 1;
                searched = lineStart;
            }
            searched = text.length();
            return -1;
        }
    }
}
