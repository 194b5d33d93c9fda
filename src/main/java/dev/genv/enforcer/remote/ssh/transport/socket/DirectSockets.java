package dev.genv.enforcer.remote.ssh.transport.socket;

import com.jcraft.jsch.SocketFactory;
import dev.genv.enforcer.remote.ssh.transport.time.Deadline;
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
import java.util.List;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/** Connects by TCP to the first reachable address of a host, within a deadline and without additional threads. */
public final class DirectSockets implements SocketFactory {
    private static final int KEEP_ALIVE_SECONDS = 15;
    private static final int MAX_UNANSWERED_PROBES = 2;
    /** The size in bytes; each connection keeps one buffer. */
    private static final int BUFFER = 1 << 10;

    private final AddressResolver resolver;
    private final AbortHandle abortHandle;
    private final UnsolicitedDataLimit unsolicitedDataLimit;
    private final Deadline deadline;
    private @Nullable Socket connected;

    public DirectSockets(
            AddressResolver resolver,
            AbortHandle abortHandle,
            UnsolicitedDataLimit unsolicitedDataLimit,
            Deadline deadline) {
        this.resolver = resolver;
        this.abortHandle = abortHandle;
        this.unsolicitedDataLimit = unsolicitedDataLimit;
        this.deadline = deadline;
    }

    public Deadline deadline() {
        return deadline;
    }

    /** Removes the time limit of reads: a timer for every packet costs more than the packet. */
    public void readWithoutLimit() throws SocketException {
        if (connected != null) {
            connected.setSoTimeout(0);
        }
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        abortHandle.enterStage("its address was not resolved");
        var addresses = addresses(host);
        abortHandle.enterStage("it did not accept the connection");
        IOException failure = new SocketTimeoutException("no address to connect to");
        for (var i = 0; i < addresses.size(); i++) {
            var socket = abortHandle.register(new Socket());
            try {
                keepAlive(socket);
                var fairShare = Math.max(1, deadline.millis() / (addresses.size() - i));
                socket.connect(new InetSocketAddress(addresses.get(i), port), fairShare);
                connected = socket;
                abortHandle.enterStage("it did not finish the key exchange and the login");
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

    private List<InetAddress> addresses(String host) throws IOException {
        try {
            return resolver.addresses(host, deadline);
        } catch (InterruptedException e) {
            throw (IOException) new InterruptedIOException("aborted").initCause(e);
        }
    }

    /** Buffers the input: JSch reads the length of every packet separately, and a read that waits costs more than the packet. */
    @Override
    public InputStream getInputStream(Socket socket) throws IOException {
        return new BufferedInputStream(unsolicitedDataLimit.countAll(socket.getInputStream()), BUFFER);
    }

    @Override
    public OutputStream getOutputStream(Socket socket) throws IOException {
        return socket.getOutputStream();
    }
}
