package dev.genv.enforcer.testsupport.ssh;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** Forwards a connection, until it stops without notifying either side, as a network can. */
public final class Relay implements Closeable {
    private final ServerSocket server;
    private final InetSocketAddress target;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final AtomicInteger accepted = new AtomicInteger();
    private volatile int firstForwarded;

    /** Forwards a free port to an address. */
    public Relay(String address, String targetAddress, int targetPort) throws IOException {
        target = new InetSocketAddress(targetAddress, targetPort);
        server = new ServerSocket(0, 50, InetAddress.getByName(address));
        Thread.ofVirtual().start(this::accept);
    }

    public int port() {
        return server.getLocalPort();
    }

    /** Stops forwarding the open connections. */
    public void stopForwarding() {
        firstForwarded = accepted.get();
    }

    private void accept() {
        try {
            while (true) {
                var near = server.accept();
                var far = new Socket();
                sockets.addAll(List.of(near, far));
                far.connect(target);
                var number = accepted.getAndIncrement();
                Thread.ofVirtual().start(() -> forward(number, near, far));
                Thread.ofVirtual().start(() -> forward(number, far, near));
            }
        } catch (IOException e) {
            // it is closed
        }
    }

    private void forward(int number, Socket from, Socket to) {
        try {
            forward(number, from.getInputStream(), to.getOutputStream());
        } catch (IOException e) {
            // one of them is closed
        }
    }

    private void forward(int number, InputStream from, OutputStream to) throws IOException {
        var bytes = new byte[1 << 10];
        for (int count; (count = from.read(bytes)) >= 0; ) {
            if (number >= firstForwarded) {
                to.write(bytes, 0, count);
            }
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (var socket : sockets) {
            socket.close();
        }
    }
}
