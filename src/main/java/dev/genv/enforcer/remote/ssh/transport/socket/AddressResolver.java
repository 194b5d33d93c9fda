package dev.genv.enforcer.remote.ssh.transport.socket;

import dev.genv.enforcer.remote.ssh.transport.time.Deadline;
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
 * Resolves names to addresses on a bounded number of platform threads: the system's resolver blocks its thread, and on a small
 * machine two names without an answer would block all carriers of virtual threads.
 */
public final class AddressResolver {
    private static final int MAX_THREADS = 64;
    private static final int MAX_REMEMBERED = 10_000;

    private static final String RESOLUTION_TIMEOUT = "its name was not resolved in time";

    private final Names names;
    private final ExecutorService threads;
    private final Map<String, Query> open = new ConcurrentHashMap<>();
    private final Map<String, List<InetAddress>> last = new ConcurrentHashMap<>();

    public AddressResolver() {
        this(InetAddress::getAllByName);
    }

    public AddressResolver(Names names) {
        this.names = names;
        var pool = new ThreadPoolExecutor(
                MAX_THREADS,
                MAX_THREADS,
                5,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("names-", 0).factory());
        pool.allowCoreThreadTimeOut(true);
        this.threads = pool;
    }

    /** The resolver of the system. */
    public interface Names {
        InetAddress[] addresses(String name) throws UnknownHostException;
    }

    /**
     * Returns the addresses of a host; the address of an address is itself.
     *
     * @throws UnknownHostException if the name has no address
     * @throws SocketTimeoutException if the name is not resolved before the deadline
     */
    List<InetAddress> addresses(String host, Deadline deadline)
            throws UnknownHostException, SocketTimeoutException, InterruptedException {
        try {
            return List.of(InetAddress.ofLiteral(host));
        } catch (IllegalArgumentException _) {
            return resolve(host, deadline);
        }
    }

    /** Returns the previous addresses if the resolver does not answer soon: the host key shows whether they are still right. */
    private List<InetAddress> resolve(String host, Deadline deadline)
            throws UnknownHostException, SocketTimeoutException, InterruptedException {
        var before = last.get(host);
        var timeLimit = before == null ? deadline.millis() : Math.ceilDiv(deadline.millis(), 3);
        try {
            return query(host, deadline).answer.get(timeLimit, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            if (before != null) {
                return before;
            }
            throw (SocketTimeoutException) new SocketTimeoutException(RESOLUTION_TIMEOUT).initCause(e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SocketTimeoutException late) {
                throw late;
            }
            throw (UnknownHostException) new UnknownHostException(host).initCause(e.getCause());
        }
    }

    private Query query(String host, Deadline deadline) {
        return open.compute(host, (name, pending) -> {
            var query = pending == null ? new Query(name, deadline) : pending;
            if (pending == null) {
                threads.execute(query.answer);
            } else if (deadline.nanoTime() - query.latest.nanoTime() > 0) {
                query.latest = deadline;
            }
            return query;
        });
    }

    private void remember(String name, List<InetAddress> found) {
        if (last.size() >= MAX_REMEMBERED) {
            last.clear();
        }
        last.put(name, found);
    }

    /** One resolution of a name for all threads that wait for it. It is skipped if all their deadlines pass before it starts. */
    private final class Query {
        private final FutureTask<List<InetAddress>> answer;
        private volatile Deadline latest;

        Query(String name, Deadline deadline) {
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
            if (latest.remaining().isZero()) {
                throw new SocketTimeoutException(RESOLUTION_TIMEOUT);
            }
            var found = List.of(names.addresses(name));
            remember(name, found);
            return found;
        }
    }
}
