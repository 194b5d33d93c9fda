package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.CommandResult.Interruption;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The persistent connection to a machine. It is opened for the first command, reused for the next ones, and reopened after a
 * loss. After failed connects and hanging commands, the machine is not contacted for a while.
 */
final class SshConnection implements Connection {
    private final SessionFactory sessionFactory;
    private final BackOff backOff;
    private final Duration timeout;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable SshSession session;
    private volatile boolean closed;

    /**
     * Creates a connection; it is opened for the first command.
     *
     * @param timeout the time limit of everything before a command: waiting for a permit, connecting, login
     */
    SshConnection(SessionFactory sessionFactory, BackOff backOff, Duration timeout) {
        this.sessionFactory = sessionFactory;
        this.backOff = backOff;
        this.timeout = timeout;
    }

    /** Logs in to the machine. */
    interface SessionFactory {
        /**
         * Opens a session.
         *
         * @param begin the deadline for the start of the attempt
         * @throws TimeoutException if other attempts held all permits until then
         */
        SshSession connect(Deadline begin) throws UnreachableException, TimeoutException, InterruptedException;
    }

    @Override
    public void stop() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            if (session != null) {
                session.stop();
            }
        } finally {
            lock.unlock();
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
            var result = answer(request, Deadline.in(timeout));
            recordOutcome(result.interruption());
            return result;
        } finally {
            lock.unlock();
        }
    }

    private CommandResult answer(ProgramRequest request, Deadline deadline)
            throws UnreachableException, InterruptedException {
        var kept = session;
        if (kept != null && kept.transport().isExceeded()) {
            session = null;
            throw failed(new UnreachableException(
                    ProblemCode.SSH_FAILED, "the host sent too much data that the service did not request"));
        }
        if (kept != null && kept.isUp()) {
            try {
                return kept.request(request);
            } catch (UnreachableException e) {
                if (e.code() == ProblemCode.TIMEOUT) {
                    throw failed(e);
                }
                // For example, the server was restarted. The command has not reached the host, so it can be sent again.
            }
        }
        var made = connect(deadline);
        if (deadline.remaining().isZero()) {
            throw new UnreachableException(
                    ProblemCode.CONNECT_TIMEOUT,
                    "the connection was ready too late for this command; the next command uses it");
        }
        try {
            return made.request(request);
        } catch (UnreachableException e) {
            throw failed(e);
        }
    }

    private SshSession connect(Deadline deadline) throws UnreachableException, InterruptedException {
        var former = session;
        if (former != null) {
            former.close(); // its jump connections may still be open
        }
        try {
            var made = sessionFactory.connect(deadline);
            session = made;
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

    private void recordOutcome(@Nullable Interruption broken) {
        if (broken == null) {
            backOff.reset();
            return;
        }
        var failure = new UnreachableException(broken.code(), broken.detail());
        switch (broken.code()) {
            case TIMEOUT, ANSWER_TOO_LONG -> backOff.failed(failure);
            default -> backOff.interrupted(failure);
        }
    }

    @Override
    public void close() {
        closed = true;
        var kept = session;
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

        /** Records a failure. */
        void failed(UnreachableException why) {
            var longest = Math.min(LONGEST, FIRST << Math.min(failures, MAX_DOUBLINGS));
            pause = longest / 2 + random.nextLong(longest / 2 + 1);
            since = nanoTime.getAsLong();
            failures++;
            last = why;
        }

        /** Records a failure that may happen once: only the second one in a row counts. */
        void interrupted(UnreachableException why) {
            if (interrupted) {
                failed(why);
            }
            interrupted = true;
        }

        /** Records a success. */
        void reset() {
            failures = 0;
            interrupted = false;
            last = null;
        }
    }
}
