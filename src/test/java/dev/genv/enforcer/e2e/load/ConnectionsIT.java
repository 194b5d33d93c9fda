package dev.genv.enforcer.e2e.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.sse.SseClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections of many clients beside the packaged service's probes. */
@Timeout(600)
class ConnectionsIT extends NodeSuite {
    private static final int CONNECTIONS = 1024;
    private static final int PROBES = 19;
    /** The maximum number of connections of one address. */
    private static final int MAX_OPEN = 256;

    private static final String LIVENESS_PATH = "/q/health/live";

    /** Each client sends the beginning of a request, and then one byte before each probe. */
    @Tag("long")
    @ParameterizedTest
    @CsvSource({
        "/hosts,'GET /hosts HTTP/1.1\r\nHost: localhost\r\nX: '",
        "/hosts,'POST /plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{'",
        "/q/health/live,''",
        "/q/health/live,'POST /q/health/live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n'",
        "/q/health/live,'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'",
    })
    void livenessAnswersDespiteManySlowConnections(String path, String begun) throws IOException {
        var service = node.startService();
        try (var slow = new SlowClients(service.portOf(path), CONNECTIONS, begun)) {
            for (var i = 0; i < PROBES; i++) {
                slow.send(begun.isEmpty() ? "" : "x");
                var answer = new RawHttp(service.portOf(LIVENESS_PATH)).get(LIVENESS_PATH);
                assertThat(answer.status()).as("probe %d", i + 1).isEqualTo(200);
            }
            slow.awaitClosed(CONNECTIONS - MAX_OPEN);
        }
    }

    /** Each client sends nothing, or the beginning of its handshake. */
    @Tag("long")
    @ParameterizedTest
    @ValueSource(strings = {"", "\u0016\u0003\u0001\u0001"})
    void probesAnswerDespiteManyHandshakesThatNeverEnd(String begun) throws Exception {
        var service =
                node.setCertificate(TestCertificate.of("localhost", directory)).startService();
        try (var silent = new SlowClients(service.port(), CONNECTIONS, begun)) {
            for (var path : List.of(LIVENESS_PATH, "/q/health/ready")) {
                assertThat(new RawHttp(service.managementPort()).get(path).status())
                        .isIn(200, 503);
            }
            silent.awaitClosed(CONNECTIONS);
        }
    }

    /** The head of a first request on one port, and of a second one on the other. */
    @Tag("long")
    @Test
    void closesConnectionsWhoseHeadsArriveSlowly() throws IOException {
        var service = node.startService();
        var begun = "GET /hosts HTTP/1.1\r\nHost: localhost\r\nX: ";
        var whole = "GET /q/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
        try (var first = new SlowClients(service.port(), 1, begun);
                var second = new SlowClients(service.managementPort(), 1, whole + begun)) {
            first.sendUntilClosed();
            second.sendUntilClosed();
        }
    }

    /**
     * No time limit ends the connection of a client that follows the events. With so few files the service admits 16 connections to a
     * port, half of them from one address.
     */
    @Test
    void closesTheOldestConnectionAboveTheLimit() throws Exception {
        var service = node.launchWith("prlimit", "--nofile=288")
                .set("NON_ENV_PROCESSES", "audit")
                .startService();
        var clients = new ArrayDeque<SseClient>();
        try (var stray = Child.withEnvironment(Map.of())) {
            for (var i = 0; i <= 8; i++) {
                clients.add(SseClient.connect(service.port(), "/events"));
            }
            try (var oldest = clients.removeFirst()) {
                oldest.awaitType("end");
            }
            node.gpus.process(0, stray.pid(), "10");
            for (var client : clients) {
                client.awaitType("violation_opened");
            }
        } finally {
            clients.forEach(SseClient::close);
        }
    }

    /** Of an address, 32 clients can follow the events. */
    @Test
    void countsEachClientOfATrustedProxyAndBelievesNoOtherClient() throws Exception {
        var service = node.variable("QUARKUS_HTTP_PROXY_PROXY_ADDRESS_FORWARDING", "true")
                .variable("QUARKUS_HTTP_PROXY_TRUSTED_PROXIES", "127.0.0.1")
                .startService();
        var clients = new ArrayDeque<SseClient>();
        try {
            for (var i = 0; i < 32; i++) {
                clients.add(SseClient.connect(service.port(), "/events", "X-Forwarded-For", "192.0.2.7"));
                assertThat(clients.getLast().response().statusCode()).isEqualTo(200);
            }
            assertThat(new RawHttp(service.port())
                            .get("/events", "X-Forwarded-For: 192.0.2.7")
                            .status())
                    .isEqualTo(503);
            clients.add(SseClient.connect(service.port(), "/events", "X-Forwarded-For", "192.0.2.8"));
            assertThat(clients.getLast().response().statusCode()).isEqualTo(200);
            try (var other = new Socket(
                    InetAddress.getLoopbackAddress(), service.port(), InetAddress.ofLiteral("127.0.0.2"), 0)) {
                other.getOutputStream()
                        .write("GET /events HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n"
                                .getBytes(StandardCharsets.US_ASCII));
                assertThat(new String(other.getInputStream().readNBytes(12), StandardCharsets.US_ASCII))
                        .as("its own address has few clients")
                        .isEqualTo("HTTP/1.1 200");
            }
        } finally {
            clients.forEach(SseClient::close);
        }
    }
}
