package dev.genv.enforcer.e2e;

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

/** Connections whose requests never come to their end. */
final class SlowClients implements Closeable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** So small that unread answers soon stay with the service. */
    private static final int RECEIVE_BUFFER = 4096;

    private final List<Socket> sockets = new ArrayList<>();
    private final List<Thread> senders = new ArrayList<>();

    /** Opens so many, and sends this on each. */
    SlowClients(int port, int count, String begun) throws IOException {
        for (var i = 0; i < count; i++) {
            var socket = new Socket();
            sockets.add(socket);
            socket.setReceiveBufferSize(RECEIVE_BUFFER);
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            send(sockets.getLast(), begun);
        }
    }

    /** Sends this on each that is still open. */
    void send(String text) {
        sockets.forEach(socket -> send(socket, text));
    }

    /** Waits until the service has closed so many, the oldest first. */
    void awaitClosed(int count) throws IOException {
        for (var socket : sockets.subList(0, count)) {
            socket.setSoTimeout((int) TIMEOUT.toMillis());
            readToEnd(socket);
        }
    }

    /** Sends a byte a second until the service has closed them all. */
    void sendUntilClosed() throws IOException {
        var deadline = System.nanoTime() + TIMEOUT.toNanos();
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

    /** Sends this on each again and again, and reads nothing, until the service has closed it. */
    SlowClients flood(String text) {
        for (var socket : sockets) {
            senders.add(Thread.ofVirtual().start(() -> {
                while (send(socket, text)) {
                    // Until the service has closed it.
                }
            }));
        }
        return this;
    }

    /** Waits until the service has closed all on which something is sent again and again. */
    void awaitFloodsClosed() throws InterruptedException {
        for (var sender : senders) {
            assertThat(sender.join(TIMEOUT)).as("closed").isTrue();
        }
    }

    private static void readToEnd(Socket socket) throws SocketTimeoutException {
        try {
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (SocketTimeoutException e) {
            throw e;
        } catch (IOException e) {
            // Reset, which is an end too.
        }
    }

    /** Whether the service has not closed it. */
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
