package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.SocketFactory;
import java.io.BufferedInputStream;
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

/** Connects by TCP to the first reachable address of a host, within a deadline and without additional threads. */
final class DirectSockets implements SocketFactory {
    private static final int KEEP_ALIVE_SECONDS = 15;
    private static final int MAX_UNANSWERED_PROBES = 2;
    /** The size in bytes; each connection keeps one buffer. */
    private static final int BUFFER = 1 << 10;

    private final Lookups lookups;
    private final Transport transport;
    private final Deadline deadline;
    private @Nullable Socket connected;

    /** The resolver of the system. */
    interface Names {
        InetAddress[] addresses(String name) throws UnknownHostException;
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

        Lookups(Names names) {
            this.names = names;
            threads.allowCoreThreadTimeOut(true);
        }

        private Future<InetAddress[]> start(String host) {
            return pending.computeIfAbsent(
                    host,
                    name -> threads.submit(() -> {
                        try {
                            return names.addresses(name);
                        } finally {
                            pending.remove(name);
                        }
                    }));
        }
    }

    DirectSockets(Lookups lookups, Transport transport, Deadline deadline) {
        this.lookups = lookups;
        this.transport = transport;
        this.deadline = deadline;
    }

    Deadline deadline() {
        return deadline;
    }

    /** Removes the time limit of reads: a timer for every packet costs more than the packet. */
    void readWithoutLimit() throws SocketException {
        if (connected != null) {
            connected.setSoTimeout(0);
        }
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        transport.enterStage("its address was not resolved");
        var addresses = addresses(host);
        transport.enterStage("it did not accept the connection");
        IOException failure = new SocketTimeoutException("no address to connect to");
        for (var i = 0; i < addresses.length; i++) {
            var socket = transport.register(new Socket());
            try {
                keepAlive(socket);
                var fairShare = Math.max(1, deadline.millis() / (addresses.length - i));
                socket.connect(new InetSocketAddress(addresses[i], port), fairShare);
                connected = socket;
                transport.enterStage("it did not finish the key exchange and the login");
                return socket;
            } catch (IOException e) {
                socket.close();
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

    private InetAddress[] addresses(String host) throws IOException {
        try {
            return new InetAddress[] {InetAddress.ofLiteral(host)};
        } catch (IllegalArgumentException _) {
            // it is a name
        }
        try {
            return lookups.start(host).get(deadline.millis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException _) {
            throw new SocketTimeoutException("its name was not resolved in time");
        } catch (ExecutionException _) {
            throw new UnknownHostException(host);
        } catch (InterruptedException _) {
            throw new InterruptedIOException("aborted");
        }
    }

    /** Buffers the input: JSch reads the length of every packet separately, and a read that waits costs more than the packet. */
    @Override
    public InputStream getInputStream(Socket socket) throws IOException {
        return new BufferedInputStream(transport.count(socket.getInputStream()), BUFFER);
    }

    @Override
    public OutputStream getOutputStream(Socket socket) throws IOException {
        return socket.getOutputStream();
    }
}
