package dev.genv.enforcer.testsupport.sse;

import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A client that reads server-sent events as they arrive. */
public final class SseClient implements AutoCloseable {
    private final HttpClient http = HttpClient.newHttpClient();
    private final LinkedBlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private final AtomicReference<String> lastId = new AtomicReference<>("");
    private final Thread thread;
    private final HttpResponse<InputStream> response;

    /** An event; the type {@code end} is the end of the stream. */
    public record Event(String id, String type, String data) {}

    private SseClient(int port, String target, String... headers) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + target))
                .timeout(TestTimeouts.HANG);
        if (headers.length > 0) {
            request.headers(headers);
        }
        response = http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        thread = Thread.ofVirtual().start(this::read);
    }

    /** Connects, and returns when the head of the answer is there. */
    public static SseClient connect(int port, String target, String... headers)
            throws IOException, InterruptedException {
        return new SseClient(port, target, headers);
    }

    public HttpResponse<?> response() {
        return response;
    }

    /** Waits for the next event. */
    public Event next() throws InterruptedException {
        var event = events.poll(TestTimeouts.HANG.toMillis(), TimeUnit.MILLISECONDS);
        if (event == null) {
            throw new AssertionError("no event");
        }
        return event;
    }

    /** Waits for an event of this type; the stream must not end before it. */
    public void awaitType(String type) throws InterruptedException {
        for (var event = next(); !event.type().equals(type); event = next()) {
            if (event.type().equals("end")) {
                throw new AssertionError("the stream ended before " + type);
            }
        }
    }

    /** The last id that arrived, with an event or alone. */
    public String lastId() {
        return lastId.get();
    }

    private void read() {
        try (var lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            var type = "";
            var data = new StringBuilder();
            for (String line; (line = lines.readLine()) != null; ) {
                if (line.isEmpty()) {
                    if (!data.isEmpty()) {
                        events.add(new Event(lastId.get(), type, data.toString()));
                    }
                    type = "";
                    data.setLength(0);
                } else if (line.startsWith("id: ")) {
                    lastId.set(line.substring(4));
                } else if (line.startsWith("event: ")) {
                    type = line.substring(7);
                } else if (line.startsWith("data: ")) {
                    data.append(line.substring(6));
                } else if (!line.startsWith(":")) {
                    throw new AssertionError("not a line of an event stream: " + line);
                }
            }
        } catch (IOException e) {
            // The server closed the connection.
        }
        events.add(new Event(lastId.get(), "end", ""));
    }

    @Override
    public void close() {
        thread.interrupt();
        http.shutdownNow();
    }
}
