package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.Session;
import com.jcraft.jsch.SocketFactory;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/**
 * A connection through all its hops: the socket, the pipes, and after the login the session with the machine. Closing it ends all threads
 * that use it. It is closed when the host sends more bytes than it is allowed: ignored messages and repeated key exchanges cost the
 * service more than they cost the host.
 */
final class Transport implements SocketFactory, Closeable {
    /** What a host may send without a request. A login needs a sixth of this, a key exchange a fiftieth. */
    static final int ALLOWANCE = 64 << 10;

    private static final int KEEP_ALIVE_SECONDS = 15;
    private static final int MAX_UNANSWERED_PROBES = 2;
    /** The size in bytes; each connection keeps one buffer. */
    private static final int BUFFER = 1 << 10;

    private final Lookups lookups;
    private final Deadline deadline;
    private final List<Closeable> held = new ArrayList<>();
    private final long allowance;
    private long remaining;
    private boolean closed;
    private String stage = "no attempt was started";
    private @Nullable Socket socket;
    private @Nullable Session session;

    /**
     * Creates a transport without connecting.
     *
     * @param hops the number of servers that send over it
     * @param deadline for connecting
     */
    Transport(Lookups lookups, int hops, Deadline deadline) {
        this.lookups = lookups;
        this.deadline = deadline;
        allowance = (long) ALLOWANCE * hops;
        remaining = allowance;
    }

    Deadline deadline() {
        return deadline;
    }

    /** Registers a resource. It is closed at once if the transport was already closed. */
    synchronized <T extends Closeable> T register(T each) {
        held.add(each);
        if (closed) {
            close(each);
        }
        return each;
    }

    @Override
    public synchronized void close() {
        closed = true;
        held.forEach(Transport::close);
    }

    static void close(Closeable each) {
        try {
            each.close();
        } catch (IOException _) {
            // the resource is abandoned, so the failure does not matter
        }
    }

    /** Records the current stage, which a timeout reports. */
    private synchronized void enterStage(String now) {
        stage = now;
    }

    synchronized String stage() {
        return stage;
    }

    /** Records the session with the machine after its login. */
    synchronized void loggedIn(Session last) {
        session = last;
    }

    /** Whether the session is connected, as far as JSch knows. */
    synchronized boolean isUp() {
        return session != null && session.isConnected() && !closed;
    }

    /** Creates a channel for a command; it is opened later. */
    ChannelExec channel() throws UnreachableException {
        try {
            if (session != null && session.openChannel("exec") instanceof ChannelExec channel) {
                return channel;
            }
        } catch (JSchException _) {
            // the connection was lost in between
        }
        throw new UnreachableException(ProblemCode.SSH_FAILED, "the connection is lost");
    }

    /** Begins a new limit: from now on the host may send so many bytes, and what it sends without a request. */
    synchronized void expect(long bytes) {
        if (!isExceeded()) {
            remaining = allowance + bytes;
        }
    }

    /** Whether the host sent more than it was allowed. */
    synchronized boolean isExceeded() {
        return remaining < 0;
    }

    private synchronized void received(int bytes) throws IOException {
        remaining -= Math.max(0, bytes);
        if (isExceeded()) {
            close();
            throw new IOException("the host sent too much data that the service did not request");
        }
    }

    /** Counts what a host sends. */
    InputStream count(InputStream source) {
        return new FilterInputStream(source) {
            @Override
            public int read(byte[] bytes, int offset, int most) throws IOException {
                var some = super.read(bytes, offset, most);
                received(some);
                return some;
            }
        };
    }

    /** Buffers the input: JSch reads the length of every packet separately, and a read that waits costs more than the packet. */
    @Override
    public InputStream getInputStream(Socket socket) throws IOException {
        return new BufferedInputStream(count(socket.getInputStream()), BUFFER);
    }

    @Override
    public OutputStream getOutputStream(Socket socket) throws IOException {
        return socket.getOutputStream();
    }

    /** Connects by TCP to the first reachable address of a host, before the deadline. */
    @Override
    public Socket createSocket(String host, int port) throws IOException {
        enterStage("its address was not resolved");
        var addresses = lookups.addresses(host, deadline);
        enterStage("it did not accept the connection");
        IOException failure = new SocketTimeoutException("no address to connect to");
        for (var i = 0; i < addresses.length; i++) {
            var attempt = register(new Socket());
            try {
                keepAlive(attempt);
                var fairShare = Math.max(1, deadline.millis() / (addresses.length - i));
                attempt.connect(new InetSocketAddress(addresses[i], port), fairShare);
                socket = attempt;
                enterStage("it did not finish the key exchange and the login");
                return attempt;
            } catch (IOException e) {
                attempt.close();
                failure = e;
            }
        }
        throw failure;
    }

    /**
     * Lets the kernel detect a lost connection, because JSch would need a time limit for reads. The next command detects a
     * reachable server that does not answer.
     */
    private static void keepAlive(Socket socket) throws IOException {
        socket.setKeepAlive(true);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEP_ALIVE_SECONDS);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEP_ALIVE_SECONDS);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, MAX_UNANSWERED_PROBES);
    }

    /** Removes the time limit of reads: a timer for every packet costs more than the packet. */
    void readWithoutLimit() throws SocketException {
        if (socket != null) {
            socket.setSoTimeout(0);
        }
    }

    /**
     * Looks up names on a bounded number of platform threads, each at most once at a time. The system's resolver blocks its thread, and
     * on a small machine two names without an answer would block all carriers of virtual threads.
     */
    static final class Lookups {
        private static final int MAX_THREADS = 64;

        private final Names names;
        private final ThreadPoolExecutor threads = new ThreadPoolExecutor(
                MAX_THREADS,
                MAX_THREADS,
                5,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("names-", 0).factory());
        private final Map<String, Future<InetAddress[]>> pending = new ConcurrentHashMap<>();

        /** The resolver of the system. */
        interface Names {
            InetAddress[] addresses(String name) throws UnknownHostException;
        }

        Lookups(Names names) {
            this.names = names;
            threads.allowCoreThreadTimeOut(true);
        }

        private InetAddress[] addresses(String host, Deadline deadline) throws IOException {
            try {
                return new InetAddress[] {InetAddress.ofLiteral(host)};
            } catch (IllegalArgumentException _) {
                // it is a name
            }
            try {
                return pending.computeIfAbsent(host, name -> threads.submit(() -> lookUp(name)))
                        .get(deadline.millis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException _) {
                throw new SocketTimeoutException("its name was not resolved in time");
            } catch (ExecutionException _) {
                throw new UnknownHostException(host);
            } catch (InterruptedException _) {
                throw new InterruptedIOException("aborted");
            }
        }

        private InetAddress[] lookUp(String name) throws UnknownHostException {
            try {
                return names.addresses(name);
            } finally {
                pending.remove(name);
            }
        }
    }
}
