package dev.genv.enforcer.e2e.load;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Requests of hostile users to the HTTP API of a service. */
public final class HostileRequests {
    private final int port;
    private final int managementPort;

    public HostileRequests(Node.Service service) throws IOException {
        port = service.port();
        managementPort = service.managementPort();
    }

    public void openSlowConnections(Duration length) throws IOException, InterruptedException {
        var sockets = new ArrayList<Socket>();
        try {
            for (var i = 0; i < 200; i++) {
                sockets.add(connect(i % 2 == 0 ? port : managementPort, "GET /violations HTTP/1.1\r\n"));
            }
            Thread.sleep(length);
        } finally {
            for (var socket : sockets) {
                socket.close();
            }
        }
    }

    public void sendLargePlan(Duration timeLimit) throws IOException, InterruptedException {
        var body = "{\"snapshots\": {\"h\": {\"processes\": [" + "[],".repeat(1_000_000) + "[]]}}}";
        var head = List.of(
                "POST /plan HTTP/1.1",
                "Host: localhost",
                "Content-Type: application/json",
                "Content-Length: " + body.length(),
                "",
                "");
        try (var _ = connect(port, String.join("\r\n", head) + body)) {
            Thread.sleep(timeLimit);
        }
    }

    /** Opens a connection and sends the text, as far as the service reads it. */
    private static Socket connect(int port, String request) throws IOException {
        var socket = new Socket(InetAddress.getLoopbackAddress(), port);
        try {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            // The service may close a connection at any time.
        }
        return socket;
    }
}
