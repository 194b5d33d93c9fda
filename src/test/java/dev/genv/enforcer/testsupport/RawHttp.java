package dev.genv.enforcer.testsupport;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import javax.net.SocketFactory;

/** An HTTP client that sends any text, also invalid requests. */
public final class RawHttp {
    private static final Duration TIMEOUT = TestTimeouts.HANG;
    private static final Pattern STATUS = Pattern.compile("HTTP/1\\.[01] ([0-9]{3}).*", Pattern.DOTALL);

    private static final Pattern LENGTH = Pattern.compile("(?i)\r\ncontent-length: *([0-9]{1,9})");

    private final int port;
    private final SocketFactory sockets;

    public RawHttp(int port) {
        this(port, SocketFactory.getDefault());
    }

    /** Connects by such sockets, for example with TLS. */
    public RawHttp(int port, SocketFactory sockets) {
        this.port = port;
        this.sockets = sockets;
    }

    /** The text of an answer. */
    public record Answer(String text) {

        /** Returns the status; 0 without an answer. */
        public int status() {
            var match = STATUS.matcher(text);
            return match.matches() ? Integer.parseInt(match.group(1)) : 0;
        }

        /** Whether the body has its announced length. */
        boolean isComplete() {
            var length = LENGTH.matcher(head());
            return text.contains("\r\n\r\n")
                    && length.find()
                    && text.length() >= head().length() + 4 + Integer.parseInt(length.group(1));
        }

        /** Returns everything before the body. */
        public String head() {
            var end = text.indexOf("\r\n\r\n");
            return end < 0 ? text : text.substring(0, end);
        }
    }

    /** Sends a GET request that closes the connection. */
    public Answer get(String target, String... headers) throws IOException {
        var more = String.join(
                "", Arrays.stream(headers).map(header -> header + "\r\n").toList());
        return send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + more + "\r\n");
    }

    /** Sends these characters, one byte each, and reads the answer. */
    public Answer send(String request) throws IOException {
        return exchange(request, "", 0, Answer::isComplete);
    }

    /**
     * The same with text that follows repeatedly, until the server closes the connection.
     *
     * @throws SocketTimeoutException if it does not
     */
    public Answer flood(String request, String piece, int times) throws IOException {
        return exchange(request, piece, times, _ -> false);
    }

    private Answer exchange(String request, String piece, int times, Predicate<Answer> enough) throws IOException {
        try (var socket = sockets.createSocket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout((int) TIMEOUT.toMillis());
            var writer = Thread.ofVirtual().start(() -> write(socket, request, piece, times));
            var bytes = new ByteArrayOutputStream();
            var buffer = new byte[8192];
            var answer = new Answer("");
            try {
                for (int count;
                        !enough.test(answer) && (count = socket.getInputStream().read(buffer)) >= 0; ) {
                    bytes.write(buffer, 0, count);
                    answer = new Answer(bytes.toString(StandardCharsets.ISO_8859_1));
                }
            } catch (SocketTimeoutException e) {
                throw e;
            } catch (IOException e) {
                // The server closed the connection; its answer before that counts.
            }
            writer.interrupt();
            return answer;
        }
    }

    private static void write(Socket socket, String request, String piece, int times) {
        try {
            var out = socket.getOutputStream();
            out.write(request.getBytes(StandardCharsets.ISO_8859_1));
            var more = piece.getBytes(StandardCharsets.ISO_8859_1);
            for (var i = 0; i < times; i++) {
                out.write(more);
            }
            out.flush();
        } catch (IOException e) {
            // The server closed the connection.
        }
    }
}
