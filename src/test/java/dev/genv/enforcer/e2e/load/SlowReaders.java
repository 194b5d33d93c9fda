package dev.genv.enforcer.e2e.load;

import dev.genv.enforcer.testsupport.RawHttp;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Clients of one address that read responses slowly, disconnect in the middle, and send the next request. */
final class SlowReaders implements Closeable {
    /** A small receive buffer, so that unread responses stay with the service. */
    private static final int RECEIVE_BUFFER = 4096;

    private static final int PIECE = 1024;
    private static final Duration PAUSE = Duration.ofMillis(200);
    /** More than the service waits for the next request of a connection. */
    private static final int PIECES = 60;

    private final List<Thread> threads;
    private final Map<Integer, Integer> responses = new TreeMap<>();

    /** A request, and the port that it is for. */
    record Request(int port, String text) {}

    SlowReaders(int number, List<Request> requests) {
        threads = IntStream.range(0, number)
                .mapToObj(index -> requests.get(index % requests.size()))
                .map(request -> Thread.ofVirtual().start(() -> send(request)))
                .toList();
    }

    /** Returns the number of responses with a status. */
    synchronized int responses(int status) {
        return responses.getOrDefault(status, 0);
    }

    private synchronized void count(int status) {
        responses.merge(status, 1, Integer::sum);
    }

    private void send(Request request) {
        while (!Thread.currentThread().isInterrupted()) {
            try (var socket = new Socket()) {
                socket.setReceiveBufferSize(RECEIVE_BUFFER);
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), request.port));
                socket.getOutputStream().write(request.text.getBytes(StandardCharsets.US_ASCII));
                read(socket);
            } catch (IOException e) {
                // The service has closed the connection.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void read(Socket socket) throws IOException, InterruptedException {
        var in = socket.getInputStream();
        count(new RawHttp.Answer(new String(in.readNBytes(PIECE), StandardCharsets.ISO_8859_1)).status());
        for (var piece = 1; piece < PIECES; piece++) {
            Thread.sleep(PAUSE);
            if (in.readNBytes(PIECE).length < PIECE) {
                return;
            }
        }
    }

    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
    }
}
