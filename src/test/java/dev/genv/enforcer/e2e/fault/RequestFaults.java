package dev.genv.enforcer.e2e.fault;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.RawHttp;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Requests that overload the API. */
final class RequestFaults {
    private static final String HEAD = "POST /plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    private static final int SLOW_CLIENTS = 30;
    private static final int LARGE_BODIES = 4;

    private RequestFaults() {}

    static List<Fault> all() {
        return List.of(
                Fault.harmless(
                        "thirty `POST /plan` whose bodies never arrive",
                        RequestFaults::sendSlowly,
                        FaultyNode::stopHelper),
                Fault.harmless(
                        "four `POST /plan` of a million small arrays at once",
                        RequestFaults::sendArrays,
                        FaultyNode::stopHelper));
    }

    /** Other clients still get an answer. */
    private static void sendSlowly(FaultyNode node) throws IOException {
        var clients = new ArrayList<Socket>();
        node.setHelper(() -> close(clients));
        for (var i = 0; i < SLOW_CLIENTS; i++) {
            clients.add(send(node, "Content-Length: 1000\r\n", "{"));
        }
        var plan = HEAD + "Connection: close\r\nContent-Length: 31\r\n\r\n{\"policy\": {}, \"snapshots\": {}}";
        assertThat(new RawHttp(node.service().port()).send(plan).status()).isEqualTo(200);
    }

    private static void sendArrays(FaultyNode node) throws IOException {
        var body = "{\"snapshots\": [" + "[0],".repeat(1_000_000) + "[0]]}";
        var clients = new ArrayList<Socket>();
        node.setHelper(() -> close(clients));
        for (var i = 0; i < LARGE_BODIES; i++) {
            var client = send(node, "Content-Length: %d\r\n".formatted(body.length()), "");
            clients.add(client);
            Thread.ofVirtual().start(() -> write(client, body));
        }
        for (var client : clients) {
            assertThat(readStatusLine(client)).isIn("HTTP/1.1 413", "HTTP/1.1 503", "");
        }
    }

    private static Socket send(FaultyNode node, String headers, String body) throws IOException {
        var client = new Socket(InetAddress.getLoopbackAddress(), node.service().port());
        client.setSoTimeout((int) HANG.toMillis());
        client.getOutputStream().write((HEAD + headers + "\r\n" + body).getBytes(StandardCharsets.US_ASCII));
        return client;
    }

    /** Empty if the connection ended before the answer. */
    private static String readStatusLine(Socket client) {
        try {
            return new String(client.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            return "";
        }
    }

    private static void write(Socket client, String body) {
        try {
            client.getOutputStream().write(body.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            // The service refused the body before its end.
        }
    }

    private static void close(List<Socket> clients) throws IOException {
        for (Closeable client : clients) {
            client.close();
        }
    }
}
