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
import java.util.List;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/** Connects by TCP, in time and without threads of its own, to the first address of a host that can be reached. */
final class DirectSockets implements SocketFactory {
    private static final int KEEP_ALIVE_SECONDS = 15;
    private static final int MOST_UNANSWERED = 2;
    /** Each connection has one, as long as it lasts. */
    private static final int BUFFER = 1 << 10;

    private final Lookup lookup;
    private final Lifeline lifeline;
    private final Chatter chatter;
    private final Deadline deadline;
    private @Nullable Socket connected;

    DirectSockets(Lookup lookup, Lifeline lifeline, Chatter chatter, Deadline deadline) {
        this.lookup = lookup;
        this.lifeline = lifeline;
        this.chatter = chatter;
        this.deadline = deadline;
    }

    Deadline deadline() {
        return deadline;
    }

    /** From now on whoever reads waits as long as it takes: a timer for every packet costs more than the packet. */
    void readWithoutLimit() throws SocketException {
        if (connected != null) {
            connected.setSoTimeout(0);
        }
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        lifeline.at("its address was not found by then");
        var addresses = addresses(host);
        lifeline.at("it did not accept the connection");
        IOException failure = new SocketTimeoutException("no address to connect to");
        for (var i = 0; i < addresses.size(); i++) {
            var socket = lifeline.hold(new Socket());
            try {
                keepAlive(socket);
                var fairShare = Math.max(1, deadline.millis() / (addresses.size() - i));
                socket.connect(new InetSocketAddress(addresses.get(i), port), fairShare);
                connected = socket;
                lifeline.at("it did not finish the key exchange and the login");
                return socket;
            } catch (IOException e) {
                socket.close();
                failure = e;
            }
        }
        throw failure;
    }

    /**
     * Left to the kernel: JSch would do it by reading with a time limit. Whether a server that is there answers, the next
     * command finds out.
     */
    private static void keepAlive(Socket socket) throws IOException {
        socket.setKeepAlive(true);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, KEEP_ALIVE_SECONDS);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, KEEP_ALIVE_SECONDS);
        socket.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, MOST_UNANSWERED);
    }

    private List<InetAddress> addresses(String host) throws IOException {
        try {
            return lookup.addresses(host, deadline);
        } catch (InterruptedException e) {
            throw (IOException) new InterruptedIOException("given up").initCause(e);
        }
    }

    /** JSch reads the length of every packet by itself, and a read that has to wait costs more than all its contents. */
    @Override
    public InputStream getInputStream(Socket socket) throws IOException {
        return new BufferedInputStream(chatter.all(socket.getInputStream()), BUFFER);
    }

    @Override
    public OutputStream getOutputStream(Socket socket) throws IOException {
        return socket.getOutputStream();
    }
}
