package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.CommandResult.Interruption;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.ssh.SshSession.NotOpenedException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The channel of a command: its input, its output since the last {@link #expectOutput}, and how it ended. */
final class ExecChannel {
    private static final int MAX_ERROR_BYTES = 4 << 10;
    private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);
    private static final Duration TIME_TO_CLOSE = Duration.ofMillis(500);
    private static final int LONGEST_NAME = 20;

    private final SshSession session;
    private final ChannelExec channel;
    private final int maxOutput;
    private final CapturedOutput output;
    private final CapturedOutput errors;
    /** Released after each change that somebody may wait for. */
    private final Semaphore changes = new Semaphore(0);

    private volatile @Nullable OutputStream input;
    private volatile boolean outputIsExpected;
    private volatile boolean finished;
    private volatile boolean ended;
    private volatile @Nullable Throwable failure;

    ExecChannel(SshSession session, ChannelExec channel, String command, int maxOutput) {
        this.session = session;
        this.channel = channel;
        this.maxOutput = maxOutput;
        // If the whole connection ends, the channel is no longer connected.
        Runnable onEnd = () -> ended = channel.isConnected();
        output = new CapturedOutput(maxOutput, maxOutput, changes::release, this::finish, onEnd);
        // JSch closes this stream only with the channel, so the close shows that the command has ended.
        errors = new CapturedOutput(MAX_ERROR_BYTES, maxOutput, changes::release, this::finish, this::finish);
        channel.setCommand(command.getBytes(StandardCharsets.UTF_8));
        channel.setOutputStream(whileExpected(output));
        channel.setErrStream(whileExpected(errors));
    }

    /** Output that nobody expects is dropped, and counts as data that the service did not request. */
    private OutputStream whileExpected(CapturedOutput target) {
        return new FilterOutputStream(session.unsolicitedDataLimit().exclude(target)) {
            @Override
            public void write(byte[] source, int offset, int count) throws IOException {
                if (outputIsExpected) {
                    out.write(source, offset, count);
                }
            }
        };
    }

    private void finish() {
        finished = true;
        changes.release();
    }

    /** Forgets what was captured, and captures or drops all output from now on. */
    void expectOutput(boolean isExpected) {
        outputIsExpected = false;
        output.clear();
        errors.clear();
        outputIsExpected = isExpected;
    }

    /** Opens the channel and writes to it, without waiting for either. */
    void open(String text, Duration timeout) {
        expectOutput(true);
        onItsOwnThread(() -> connect(text, timeout));
    }

    OutputStream connect(String text, Duration timeout) throws JSchException, IOException {
        // A little longer than the limit of the command, which reports the timeout.
        channel.connect(Math.clamp(timeout.plusSeconds(1).toMillis(), 1, Integer.MAX_VALUE));
        PacketSizeLimit.limit(channel);
        var stream = channel.getOutputStream();
        input = stream;
        write(stream, text);
        return stream;
    }

    /** Writes to an open channel, without waiting for it. */
    void send(String text) {
        expectOutput(true);
        onItsOwnThread(() -> write(Objects.requireNonNull(input), text));
    }

    private static void write(OutputStream stream, String text) throws IOException {
        stream.write(text.getBytes(StandardCharsets.UTF_8));
        stream.flush();
    }

    /** What waits for the host despite JSch's time limits: opening the channel, and writing to it. */
    interface Step {
        void run() throws JSchException, IOException;
    }

    void onItsOwnThread(Step step) {
        Thread.ofVirtual().name("ssh").start(() -> {
            try {
                step.run();
            } catch (JSchException | IOException | RuntimeException e) {
                failure = e;
                // A command may exit before it has read its input; a command that never started has no exit.
                if (!channel.isClosed() || !PacketSizeLimit.isKnown(channel)) {
                    finish();
                }
            }
        });
    }

    /**
     * Waits until a condition holds, the channel is closed, or the time is over.
     *
     * @return whether the time was enough
     * @throws NotOpenedException if the host has not opened the channel; the session is closed then
     */
    boolean await(Duration timeout, BooleanSupplier condition) throws NotOpenedException, InterruptedException {
        try {
            var inTime = isInTime(timeout, condition);
            if (!PacketSizeLimit.isKnown(channel)) {
                session.close();
                throw new NotOpenedException("it opens no channel for a command", !inTime);
            }
            return inTime;
        } catch (InterruptedException e) {
            session.close();
            throw e;
        }
    }

    private boolean isInTime(Duration timeout, BooleanSupplier condition) throws InterruptedException {
        var deadline = Deadline.in(timeout);
        while (!condition.getAsBoolean() && !finished) {
            if (deadline.remaining().isZero()) {
                return false;
            }
            var poll = Math.min(POLL_INTERVAL.toNanos(), deadline.remaining().toNanos());
            // JSch does not report a connection that is lost while the channel is being opened.
            if (changes.tryAcquire(poll, TimeUnit.NANOSECONDS)) {
                changes.drainPermits();
            } else if (!session.isUp()) {
                return true;
            }
        }
        return true;
    }

    /** Whether the command runs, as far as is known. */
    boolean isOpen() {
        return !finished && session.isUp();
    }

    /** Waits for the answer to the request that was sent last. */
    CommandResult receive(ProgramRequest request) throws NotOpenedException, InterruptedException {
        var answerStart = (request.mark() + "{").getBytes(StandardCharsets.ISO_8859_1);
        var inTime = await(request.timeout(), () -> output.findLine(answerStart) >= 0);
        var end = output.findLine(answerStart);
        if (end < 0) {
            return end(inTime, request.timeout(), "answer");
        }
        var result = new CommandResult(output.text(end), "", null, null);
        expectOutput(false);
        return result;
    }

    /**
     * Returns how the command ended, and closes what remains.
     *
     * @param inTime false if it neither exited nor answered within the time limit
     * @param expected what it did not do within the time limit
     */
    CommandResult end(boolean inTime, Duration timeout, String expected) throws InterruptedException {
        if (output.isExceeded() || errors.isExceeded()) {
            close();
            return aborted(ProblemCode.ANSWER_TOO_LONG, "it printed more than " + maxOutput + " bytes");
        }
        if (!inTime) {
            session.close(); // it may be lost without notice
            return aborted(ProblemCode.TIMEOUT, "it did not %s within %d ms".formatted(expected, timeout.toMillis()));
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

    /** Closes the channel, or the whole session if the host does not answer. */
    void close() throws InterruptedException {
        session.unsolicitedDataLimit().allowRemaining();
        try {
            Deadline.in(TIME_TO_CLOSE).call(Executors.callable(channel::disconnect, true), session::close);
        } catch (TimeoutException | ExecutionException _) {
            session.close();
        }
    }

    private CommandResult aborted(ProblemCode code, String detail) {
        return new CommandResult(output.text(), errors.text(), null, new Interruption(code, detail));
    }
}
