package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The persistent connection to a machine, and the program that runs over it. It is opened for the first request, reused for the next
 * ones, and reopened after a loss. After failed connects and hanging requests, the machine is not contacted for a while.
 */
final class SshConnection implements Connection {
    private final Login login;
    private final BackOff backOff;
    private final Duration timeout;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable Transport transport;
    private volatile boolean closed;
    private @Nullable RemoteProgram program;

    /**
     * Creates a connection; it is opened for the first request.
     *
     * @param timeout the time limit of everything before a request: waiting for a permit, connecting, login
     */
    SshConnection(Login login, BackOff backOff, Duration timeout) {
        this.login = login;
        this.backOff = backOff;
        this.timeout = timeout;
    }

    /** Connects to the machine and logs in. */
    interface Login {
        /**
         * Opens a transport.
         *
         * @param begin the deadline for the start of the attempt
         * @throws TimeoutException if other attempts held all permits until then
         */
        Transport connect(Deadline begin) throws UnreachableException, TimeoutException, InterruptedException;
    }

    @Override
    public void stop() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            stopProgram();
        } finally {
            lock.unlock();
        }
    }

    private void stopProgram() throws InterruptedException {
        if (program != null) {
            program.close();
            program = null;
        }
    }

    @Override
    public CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
        lock.lockInterruptibly();
        try {
            if (closed) {
                throw new UnreachableException(ProblemCode.CONNECTION_LOST, "the service closed the connection");
            }
            backOff.check();
            var result = requestOnce(request, Deadline.in(timeout));
            backOff.remember(result.interruption());
            return result;
        } finally {
            lock.unlock();
        }
    }

    private CommandResult requestOnce(ProgramRequest request, Deadline deadline)
            throws UnreachableException, InterruptedException {
        var kept = transport;
        if (kept != null && kept.isExceeded()) {
            transport = null;
            throw failed(new UnreachableException(
                    ProblemCode.SSH_FAILED, "the host sent too much data that the service did not request"));
        }
        if (kept != null && kept.isUp()) {
            try {
                return request(kept, request);
            } catch (UnreachableException e) {
                if (e.code() == ProblemCode.TIMEOUT) {
                    throw failed(e);
                }
                // For example, the server was restarted. The request has not reached the host, so it can be sent again.
            }
        }
        var made = connect(deadline);
        if (deadline.remaining().isZero()) {
            throw new UnreachableException(
                    ProblemCode.CONNECT_TIMEOUT,
                    "the connection was ready too late for this command; the next command uses it");
        }
        try {
            return request(made, request);
        } catch (UnreachableException e) {
            throw failed(e);
        }
    }

    private Transport connect(Deadline deadline) throws UnreachableException, InterruptedException {
        var former = transport;
        if (former != null) {
            former.close(); // its jump connections may still be open
        }
        program = null;
        try {
            var made = login.connect(deadline);
            transport = made;
            if (closed) {
                made.close();
            }
            return made;
        } catch (TimeoutException _) { // not a failure of this host
            throw new UnreachableException(
                    ProblemCode.CONNECT_TIMEOUT, "attempts to connect to other hosts took all permits");
        } catch (UnreachableException e) {
            throw failed(e);
        }
    }

    private UnreachableException failed(UnreachableException failure) {
        backOff.failed(failure);
        return failure;
    }

    /**
     * Sends a request to a program, which is started if it does not run. Afterwards the transport is closed if the program may
     * continue without having answered, or the connection may be lost without notice.
     *
     * @throws UnreachableException if the request can be sent over another transport, because this one is unusable
     */
    private CommandResult request(Transport with, ProgramRequest request)
            throws UnreachableException, InterruptedException {
        CommandResult result = null;
        try {
            result = answer(with, request);
            return result;
        } finally {
            if (result == null || !result.hasEnded()) {
                with.close();
            }
        }
    }

    private CommandResult answer(Transport with, ProgramRequest request)
            throws UnreachableException, InterruptedException {
        if (program != null && program.canAnswer(request)) {
            var result = program.request(request);
            if (result.output().contains(request.mark())) {
                return result;
            }
            // It may have been lost long before a request shows it, for example if the machine was switched off.
            var interruption = result.interruption();
            if (request.isRepeatable() && interruption != null && interruption.code() == ProblemCode.CONNECTION_LOST) {
                throw interruption;
            }
            if (!result.hasEnded()) {
                return result;
            }
            // The program certainly ended before it received the request, so that another one can receive it.
        }
        stopProgram();
        program = new RemoteProgram(with, with.channel(), request);
        return program.request(request);
    }

    @Override
    public void close() {
        closed = true;
        var kept = transport;
        if (kept != null) {
            kept.close();
        }
    }

    /** How long a failed host is not contacted: longer after each failure, with random variation between hosts. */
    static final class BackOff {
        private static final long FIRST = Duration.ofSeconds(1).toNanos();
        private static final int MAX_DOUBLINGS = 6;
        private static final long LONGEST = Duration.ofSeconds(60).toNanos();

        private final LongSupplier nanoTime;
        private final RandomGenerator random;
        private int failures;
        private boolean interrupted;
        private long since;
        private long pause;
        private @Nullable UnreachableException last;

        BackOff(LongSupplier nanoTime, RandomGenerator random) {
            this.nanoTime = nanoTime;
            this.random = random;
        }

        /**
         * Returns normally if the next attempt is due.
         *
         * @throws UnreachableException with the last failure and the remaining time, if it is not due
         */
        void check() throws UnreachableException {
            var left = pause - (nanoTime.getAsLong() - since);
            if (last != null && left > 0) {
                var seconds = Duration.ofNanos(left).plusMillis(999).toSeconds();
                throw new UnreachableException(last.code(), last.getMessage() + "; next try in " + seconds + " s");
            }
        }

        /** Remembers a failure. */
        void failed(UnreachableException why) {
            var longest = Math.min(LONGEST, FIRST << Math.min(failures, MAX_DOUBLINGS));
            pause = longest / 2 + random.nextLong(longest / 2 + 1);
            since = nanoTime.getAsLong();
            failures++;
            last = why;
        }

        /** Remembers a success, or why a request was aborted. What may happen once counts only if it happens twice in a row. */
        void remember(@Nullable UnreachableException interruption) {
            if (interruption == null) {
                failures = 0;
                interrupted = false;
                last = null;
                return;
            }
            var code = interruption.code();
            if (code == ProblemCode.TIMEOUT || code == ProblemCode.ANSWER_TOO_LONG) {
                failed(interruption);
                return;
            }
            if (interrupted) {
                failed(interruption);
            }
            interrupted = true;
        }
    }
}
