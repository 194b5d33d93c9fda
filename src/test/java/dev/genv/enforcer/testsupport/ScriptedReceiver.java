package dev.genv.enforcer.testsupport;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** An HTTP receiver of events that answers as a test wants, or not at all. */
public final class ScriptedReceiver extends ScriptedServer {
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private volatile Script script;

    /** A request; the names of its headers are in lower case. */
    public record Request(String line, Map<String, String> headers, String body) {}

    /** Writes the answer to a request. */
    public interface Script {
        void answer(Request request, OutputStream out) throws IOException, InterruptedException;
    }

    public ScriptedReceiver(Script script) throws IOException {
        this.script = script;
        start();
    }

    /** Answers with this status and these headers. */
    public static Script status(int status, String... headers) {
        var head = new StringBuilder("HTTP/1.1 %d Test\r\nContent-Length: 0\r\n".formatted(status));
        for (var header : headers) {
            head.append(header).append("\r\n");
        }
        return (_, out) -> out.write((head + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Never answers. */
    public static Script hang() {
        return (_, _) -> Thread.sleep(Long.MAX_VALUE);
    }

    /** Sends one byte of the head of an answer now and then, without an end. */
    public static Script drip() {
        return (_, out) -> {
            out.write("HTTP/1.1 200 OK\r\nX: ".getBytes(StandardCharsets.ISO_8859_1));
            drip(out, 'x');
        };
    }

    public void use(Script other) {
        script = other;
    }

    public List<Request> requests() {
        return List.copyOf(requests);
    }

    @Override
    protected void serve(Socket socket) throws IOException {
        var request = read(socket.getInputStream());
        requests.add(request);
        // The script may never end, so another thread sees that the client closes the connection.
        var answer = Thread.ofVirtual().start(() -> answer(request, socket));
        while (socket.getInputStream().read() >= 0) {
            // nothing may follow
        }
        answer.interrupt();
    }

    private void answer(Request request, Socket socket) {
        try {
            script.answer(request, socket.getOutputStream());
            socket.getOutputStream().flush();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            // the client closed the connection
        }
    }

    private static Request read(InputStream in) throws IOException {
        var line = line(in);
        var headers = new TreeMap<String, String>();
        for (var header = line(in); !header.isEmpty(); header = line(in)) {
            var colon = header.indexOf(':');
            headers.put(
                    header.substring(0, colon).toLowerCase(Locale.ROOT),
                    header.substring(colon + 1).strip());
        }
        var length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
        return new Request(line, headers, new String(in.readNBytes(length), StandardCharsets.UTF_8));
    }

    private static String line(InputStream in) throws IOException {
        var line = new StringBuilder();
        for (var next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("the request has no end");
            }
            line.append((char) next);
        }
        return line.toString().strip();
    }
}
