package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.ProgramRequest;
import dev.genv.enforcer.remote.ssh.SshSession.NotOpenedException;
import java.nio.charset.StandardCharsets;

/** A command that keeps running and answers one request after the other. */
final class Program {
    private final ExecChannel channel;
    private final ProgramRequest first;

    private Program(ExecChannel channel, ProgramRequest first) {
        this.channel = channel;
        this.first = first;
    }

    /** Starts a program for its first request. */
    static Program start(ExecChannel channel, ProgramRequest first) {
        channel.expectOutput();
        channel.open(first.program() + first.line(), false, first.timeout());
        return new Program(channel, first);
    }

    /** Whether it runs, as far as is known, and can answer a request. */
    boolean isReadyFor(ProgramRequest request) {
        return channel.isOpen() && request.hasProgramOf(first);
    }

    void send(ProgramRequest request) {
        channel.expectOutput();
        channel.send(request.line());
    }

    /** Waits for the answer to the request that was sent last. */
    CommandResult receive(ProgramRequest request) throws NotOpenedException, InterruptedException {
        var answerStart = (request.mark() + "{").getBytes(StandardCharsets.ISO_8859_1);
        var output = channel.output();
        var inTime = channel.await(request.timeout(), () -> output.findLine(answerStart) >= 0);
        var end = output.findLine(answerStart);
        if (end < 0) {
            return channel.end(inTime, request.timeout(), "answer");
        }
        var result = new CommandResult(output.text(end), "", null, null);
        channel.ignoreOutput();
        return result;
    }

    /** Whether it certainly ended before it received a request with this result, so that the request can be sent to another one. */
    static boolean endedBefore(ProgramRequest request, CommandResult result) {
        return result.hasEnded() && !result.output().contains(request.mark());
    }

    void stop() throws InterruptedException {
        channel.close();
    }
}
