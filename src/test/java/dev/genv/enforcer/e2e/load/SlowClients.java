package dev.genv.enforcer.e2e.load;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Connections with requests that never end. */
final class SlowClients implements Closeable {
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** A small receive buffer, so that unread answers soon stay with the service. */
    private static final int RECEIVE_BUFFER = 4096;

    private final List<Socket> sockets = new ArrayList<>();
    private final List<Thread> senders = new ArrayList<>();

    /** Opens this number of connections, and sends the text on each. */
    SlowClients(int port, int count, String begun) throws IOException {
        for (var i = 0; i < count; i++) {
            var socket = new Socket();
            sockets.add(socket);
            socket.setReceiveBufferSize(RECEIVE_BUFFER);
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            send(sockets.getLast(), begun);
        }
    }

    /** Sends the text on each open connection. */
    void send(String text) {
        sockets.forEach(socket -> send(socket, text));
    }

    /** Waits until the service has closed this number of connections, the oldest first. */
    void awaitClosed(int count) throws IOException {
        for (var socket : sockets.subList(0, count)) {
            socket.setSoTimeout((int) HANG.toMillis());
            readToEnd(socket);
        }
    }

    /** Sends a byte a second until the service has closed all connections. */
    void sendUntilClosed() throws IOException {
        var deadline = System.nanoTime() + HANG.toNanos();
        for (var socket : sockets) {
            socket.setSoTimeout((int) PAUSE.toMillis());
            while (true) {
                try {
                    readToEnd(socket);
                    break;
                } catch (SocketTimeoutException e) {
                    if (System.nanoTime() > deadline) {
                        throw e;
                    }
                    send(socket, "x");
                }
            }
        }
    }

    /** Sends the text repeatedly on each connection without reading, until the service closes it. */
    SlowClients flood(String text) {
        for (var socket : sockets) {
            senders.add(Thread.ofVirtual().start(() -> {
                while (send(socket, text)) {
                    // The loop ends when the service closes the connection.
                }
            }));
        }
        return this;
    }

    /** Waits until the service has closed all connections with repeated text. */
    void awaitFloodsClosed() throws InterruptedException {
        for (var sender : senders) {
            assertThat(sender.join(HANG)).as("closed").isTrue();
        }
    }

    private static void readToEnd(Socket socket) throws SocketTimeoutException {
        try {
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (SocketTimeoutException e) {
            throw e;
        } catch (IOException e) {
            // A reset also ends the connection.
        }
    }

    /** Sends the text, and returns whether the connection is open. */
    private static boolean send(Socket socket, String text) {
        try {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() throws IOException {
        for (var socket : sockets) {
            socket.close();
        }
    }
}
