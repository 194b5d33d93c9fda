package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Answer.Broken;
import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.remote.ssh.Link.NotOpenedException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The connection to a host: made for the first command, kept for the next ones, made anew when it is lost. A host that cannot
 * be reached, or lets commands hang, is left alone for a while.
 */
final class Connection implements KeptExchange {
    private final Dial dial;
    private final BackOff backOff;
    private final Duration timeout;
    private final ReentrantLock turn = new ReentrantLock();
    private volatile @Nullable Link link;
    private volatile boolean closed;

    /**
     * Prepares it.
     *
     * @param timeout how long everything may take that comes before a command
     */
    Connection(Dial dial, BackOff backOff, Duration timeout) {
        this.dial = dial;
        this.backOff = backOff;
        this.timeout = timeout;
    }

    /** Logs in on the host. */
    interface Dial {
        /**
         * Does so.
         *
         * @param begin by when it is to begin
         * @throws TimeoutException where too many others were connected to until then
         */
        Link connect(Deadline begin) throws UnreachableException, TimeoutException, InterruptedException;
    }

    @Override
    public Answer run(Request request) throws UnreachableException, InterruptedException {
        turn.lockInterruptibly();
        try {
            if (closed) {
                throw new UnreachableException(ProblemCode.CONNECTION_LOST, "it was closed on this side");
            }
            backOff.check();
            var answer = answer(request, Deadline.in(timeout));
            judge(answer.broken());
            return answer;
        } finally {
            turn.unlock();
        }
    }

    private Answer answer(Request request, Deadline deadline) throws UnreachableException, InterruptedException {
        var kept = link;
        if (kept != null && kept.chatter().isTooMuch()) {
            kept.close();
            link = null;
            throw failed(ProblemCode.SSH_FAILED, "it says too much that nobody asked for");
        }
        if (kept != null && kept.isUp()) {
            try {
                return kept.run(request);
            } catch (NotOpenedException e) {
                if (e.isLate()) {
                    throw failed(e);
                }
                // The server was started anew, say. The host has heard nothing of it: it can be said again.
            }
        }
        try {
            var made = connect(deadline);
            if (deadline.left().isZero()) {
                throw new UnreachableException(
                        ProblemCode.CONNECT_TIMEOUT,
                        "it was connected to too late for this command, but in time for the next one");
            }
            return made.run(request);
        } catch (NotOpenedException e) {
            throw failed(e);
        }
    }

    private Link connect(Deadline deadline) throws UnreachableException, InterruptedException {
        var former = link;
        if (former != null) {
            former.close(); // what it went by way of may still be up
        }
        try {
            var made = dial.connect(deadline);
            link = made;
            if (closed) {
                made.close();
            }
            return made;
        } catch (TimeoutException _) { // which is not the fault of the host
            throw new UnreachableException(ProblemCode.CONNECT_TIMEOUT, "too many other hosts were being connected to");
        } catch (UnreachableException e) {
            // Without what led to it, which holds all that the host said, and would be kept as long as the host is
            // away.
            throw failed(e.code(), String.valueOf(e.getMessage()));
        }
    }

    private UnreachableException failed(NotOpenedException e) {
        return failed(e.isLate() ? ProblemCode.TIMEOUT : ProblemCode.SSH_FAILED, String.valueOf(e.getMessage()));
    }

    private UnreachableException failed(ProblemCode code, String why) {
        var failure = new UnreachableException(code, why);
        backOff.failed(failure);
        return failure;
    }

    private void judge(@Nullable Broken broken) {
        if (broken == null) {
            backOff.reset();
            return;
        }
        var failure = new UnreachableException(broken.code(), broken.detail());
        switch (broken.code()) {
            case TIMEOUT, ANSWER_TOO_LONG -> backOff.failed(failure);
            default -> backOff.stumbled(failure);
        }
    }

    @Override
    public void close() {
        closed = true;
        var kept = link;
        if (kept != null) {
            kept.close();
        }
    }
}
