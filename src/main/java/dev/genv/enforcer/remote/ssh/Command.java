package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Words;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Answer.Broken;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.remote.ssh.Link.NotOpenedException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** One command, from the opening of its channel to its end. */
final class Command {
    private static final int MOST_ERRORS = 4 << 10;
    private static final Duration GLANCE = Duration.ofSeconds(1);
    private static final Duration TIME_TO_CLOSE = Duration.ofMillis(500);
    private static final int LONGEST_NAME = 20;

    private final Link link;
    private final ChannelExec channel;
    private final Request request;
    private final CountDownLatch over = new CountDownLatch(1);
    private final Collected output;
    private final Collected errors;
    private volatile boolean ended;
    private volatile @Nullable Throwable failure;

    Command(Link link, ChannelExec channel, Request request) {
        this.link = link;
        this.channel = channel;
        this.request = request;
        this.output = new Collected(request.mostOutput(), request.mostOutput(), over::countDown, this::outputEnds);
        // JSch closes it with the channel only, however that comes about: so it tells when the command is over.
        this.errors = new Collected(MOST_ERRORS, request.mostOutput(), over::countDown, over::countDown);
    }

    /** Runs it. */
    Answer run() throws NotOpenedException, InterruptedException {
        channel.setCommand(request.command().getBytes(StandardCharsets.UTF_8));
        channel.setOutputStream(link.chatter().asked(output));
        channel.setErrStream(link.chatter().asked(errors));
        Thread.ofVirtual().name("ssh").start(this::begin);
        try {
            var inTime = awaitEnd();
            if (!PacketSize.isKnown(channel)) {
                link.close();
                throw new NotOpenedException("it opens no channel for a command", !inTime);
            }
            return answer(inTime);
        } catch (InterruptedException e) {
            link.close();
            throw e;
        }
    }

    /** On a thread of its own: both the opening and the input wait for the host, whatever JSch is told. */
    private void begin() {
        try {
            // A little longer than the command itself: that it took too long is told there.
            channel.connect(Math.clamp(request.timeout().plusSeconds(1).toMillis(), 1, Integer.MAX_VALUE));
            PacketSize.limit(channel);
            try (var input = channel.getOutputStream()) {
                input.write(request.input().getBytes(StandardCharsets.UTF_8));
            }
        } catch (JSchException | IOException | RuntimeException e) {
            failure = e;
            // A command may well end without having read its input; one that was never begun has no end of its own.
            if (!channel.isClosed() || !PacketSize.isKnown(channel)) {
                over.countDown();
            }
        }
    }

    private void outputEnds() {
        // As opposed to the end of everything: with that, the channel is not connected any longer.
        ended = channel.isConnected();
    }

    private boolean awaitEnd() throws InterruptedException {
        var deadline = Deadline.in(request.timeout());
        while (!deadline.left().isZero()) {
            var glance = Math.min(GLANCE.toNanos(), deadline.left().toNanos());
            // A connection that is lost while the channel is being opened tells nobody.
            if (over.await(glance, TimeUnit.NANOSECONDS) || !link.isUp()) {
                return true;
            }
        }
        return false;
    }

    private Answer answer(boolean inTime) throws InterruptedException {
        if (output.isTooMuch() || errors.isTooMuch()) {
            closeChannel();
            return broken(ProblemCode.ANSWER_TOO_LONG, "it said more than " + request.mostOutput() + " bytes");
        }
        if (!inTime) {
            link.close(); // which may be dead, and nobody told
            return broken(
                    ProblemCode.TIMEOUT,
                    "it did not end within " + request.timeout().toMillis() + " ms");
        }
        if (!ended && isLost()) {
            link.close();
            return broken(ProblemCode.CONNECTION_LOST, "the connection was lost before its end");
        }
        if (channel.getExitStatus() >= 0) {
            return new Answer(output.text(), errors.text(), channel.getExitStatus(), null);
        }
        if (channel.getExitSignal() != null) {
            return broken(
                    ProblemCode.AGENT_KILLED,
                    "it was ended by signal " + Words.safe(channel.getExitSignal(), LONGEST_NAME));
        }
        if (!channel.isClosed()) {
            link.close();
            return broken(
                    ProblemCode.SSH_FAILED,
                    "it could not be started: " + (failure == null ? "" : failure.getMessage()));
        }
        return broken(ProblemCode.NO_EXIT_CODE, "it ended without an exit code");
    }

    /** JSch ends the channels first, and says only then that the connection is lost. */
    private boolean isLost() throws InterruptedException {
        for (var glances = 0; glances < 20 && link.isUp(); glances++) {
            Thread.sleep(5);
        }
        return !link.isUp();
    }

    private void closeChannel() throws InterruptedException {
        link.chatter().expectTheRest();
        try {
            Attempt.within(
                    TIME_TO_CLOSE,
                    () -> {
                        channel.disconnect();
                        return true;
                    },
                    link::close);
        } catch (TimeoutException | ExecutionException _) {
            link.close();
        }
    }

    private Answer broken(ProblemCode code, String detail) {
        return new Answer(output.text(), errors.text(), null, new Broken(code, detail));
    }
}
