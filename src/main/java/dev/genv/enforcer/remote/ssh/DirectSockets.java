package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.SocketFactory;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.List;

/** Connects by TCP, in time and without threads of its own, to the first address of a host that can be reached. */
record DirectSockets(Lookup lookup, Lifeline lifeline, Chatter chatter, Deadline deadline) implements SocketFactory {

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        lifeline.at("its address was not found by then");
        var addresses = addresses(host);
        lifeline.at("it did not accept the connection");
        IOException failure = new SocketTimeoutException("no address to connect to");
        for (var i = 0; i < addresses.size(); i++) {
            var socket = lifeline.hold(new Socket());
            try {
                var fairShare = Math.max(1, deadline.millis() / (addresses.size() - i));
                socket.connect(new InetSocketAddress(addresses.get(i), port), fairShare);
                lifeline.at("it did not finish the key exchange and the login");
                return socket;
            } catch (IOException e) {
                socket.close();
                failure = e;
            }
        }
        throw failure;
    }

    private List<InetAddress> addresses(String host) throws IOException {
        try {
            return lookup.addresses(host, deadline);
        } catch (InterruptedException e) {
            throw (IOException) new InterruptedIOException("given up").initCause(e);
        }
    }

    @Override
    public InputStream getInputStream(Socket socket) throws IOException {
        return chatter.all(socket.getInputStream());
    }

    @Override
    public OutputStream getOutputStream(Socket socket) throws IOException {
        return socket.getOutputStream();
    }
}
