package dev.genv.enforcer.remote.ssh;

import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Finds the addresses of names. On threads of the platform, few and not for long: the system's own function keeps the
 * thread that asks, and two names that nobody answers for would keep all the carriers of virtual threads on a small machine.
 */
final class Lookup {
    private static final int MOST_THREADS = 64;
    private static final int MOST_REMEMBERED = 10_000;

    private static final String TOO_LATE = "nobody said its address in time";

    private final Names names;
    private final ExecutorService threads;
    private final Map<String, Question> open = new ConcurrentHashMap<>();
    private final Map<String, List<InetAddress>> last = new ConcurrentHashMap<>();

    Lookup() {
        this(InetAddress::getAllByName);
    }

    Lookup(Names names) {
        this.names = names;
        var pool = new ThreadPoolExecutor(
                MOST_THREADS,
                MOST_THREADS,
                5,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("names-", 0).factory());
        pool.allowCoreThreadTimeOut(true);
        this.threads = pool;
    }

    /** Who knows the addresses of names. */
    interface Names {
        InetAddress[] addresses(String name) throws UnknownHostException;
    }

    /**
     * The addresses of a host, of which an address is its own.
     *
     * @throws UnknownHostException where there are none
     * @throws SocketTimeoutException where nobody says in time
     */
    List<InetAddress> addresses(String host, Deadline deadline)
            throws UnknownHostException, SocketTimeoutException, InterruptedException {
        try {
            return List.of(InetAddress.ofLiteral(host));
        } catch (IllegalArgumentException _) {
            return ask(host, deadline);
        }
    }

    /** Where nobody says it soon, an address that it had before is the better guess: whose it is, its key will tell. */
    private List<InetAddress> ask(String host, Deadline deadline)
            throws UnknownHostException, SocketTimeoutException, InterruptedException {
        var before = last.get(host);
        var patience = before == null ? deadline.millis() : Math.ceilDiv(deadline.millis(), 3);
        try {
            return question(host, deadline).answer.get(patience, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            if (before != null) {
                return before;
            }
            throw (SocketTimeoutException) new SocketTimeoutException(TOO_LATE).initCause(e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SocketTimeoutException late) {
                throw late;
            }
            throw (UnknownHostException) new UnknownHostException(host).initCause(e.getCause());
        }
    }

    private Question question(String host, Deadline deadline) {
        return open.compute(host, (name, asked) -> {
            var question = asked == null ? new Question(name, deadline) : asked;
            if (asked == null) {
                threads.execute(question.answer);
            } else if (deadline.nanoTime() - question.latest.nanoTime() > 0) {
                question.latest = deadline;
            }
            return question;
        });
    }

    private void remember(String name, List<InetAddress> found) {
        if (last.size() >= MOST_REMEMBERED) {
            last.clear();
        }
        last.put(name, found);
    }

    /** Asked once, however many wait for it, and not at all where none of them waits any longer when its turn comes. */
    private final class Question {
        private final FutureTask<List<InetAddress>> answer;
        private volatile Deadline latest;

        Question(String name, Deadline deadline) {
            this.latest = deadline;
            this.answer = new FutureTask<>(() -> {
                try {
                    return find(name);
                } finally {
                    open.remove(name);
                }
            });
        }

        private List<InetAddress> find(String name) throws UnknownHostException, SocketTimeoutException {
            if (latest.left().isZero()) {
                throw new SocketTimeoutException(TOO_LATE);
            }
            var found = List.of(names.addresses(name));
            remember(name, found);
            return found;
        }
    }
}
