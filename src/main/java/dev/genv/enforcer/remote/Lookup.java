package dev.genv.enforcer.remote;

import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Finds the addresses of names. On threads of the platform, few and not for long: the system's own function keeps the
 * thread that asks, and two names that nobody answers for would keep all the carriers of virtual threads on a small machine.
 */
final class Lookup {
    private static final int MOST_THREADS = 16;

    private final Names names;
    private final ExecutorService threads;

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

    private List<InetAddress> ask(String host, Deadline deadline)
            throws UnknownHostException, SocketTimeoutException, InterruptedException {
        var asked = threads.submit(() -> List.of(names.addresses(host)));
        try {
            return asked.get(deadline.millis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw (SocketTimeoutException) new SocketTimeoutException("nobody said its address in time").initCause(e);
        } catch (ExecutionException e) {
            throw (UnknownHostException) new UnknownHostException(host).initCause(e.getCause());
        } finally {
            asked.cancel(false); // one that waits for its turn need not have it
        }
    }
}
