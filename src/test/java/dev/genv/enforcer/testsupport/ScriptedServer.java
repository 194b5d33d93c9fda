package dev.genv.enforcer.testsupport;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A server on the loopback interface that behaves as a test wants. */
public abstract class ScriptedServer implements Closeable {
    private final ServerSocket listener;
    private final List<Socket> open = new CopyOnWriteArrayList<>();
    private final AtomicInteger closedByClient = new AtomicInteger();

    protected ScriptedServer() throws IOException {
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    /** Accepts connections from now on. */
    protected final void start() {
        Thread.ofVirtual().start(this::accept);
    }

    /** Serves a connection until the client closes it. */
    protected abstract void serve(Socket socket) throws IOException, InterruptedException;

    public final int port() {
        return listener.getLocalPort();
    }

    /** The number of connections that the client closed. */
    public final int closedByClient() {
        return closedByClient.get();
    }

    /** Sends a byte now and then, without an end. */
    protected static void drip(OutputStream out, int one) throws IOException, InterruptedException {
        while (true) {
            out.write(one);
            out.flush();
            Thread.sleep(20); // the pace of the server, not a condition to wait for
        }
    }

    private void accept() {
        try {
            while (true) {
                var socket = listener.accept();
                open.add(socket);
                Thread.ofVirtual().start(() -> serveToTheEnd(socket));
            }
        } catch (SocketException e) {
            // closed
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void serveToTheEnd(Socket socket) {
        try (socket) {
            serve(socket);
            closedByClient.incrementAndGet();
        } catch (IOException e) {
            closedByClient.incrementAndGet();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public final void close() throws IOException {
        listener.close();
        for (var socket : open) {
            socket.close();
        }
    }
}
