package dev.genv.enforcer.e2e.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.RawHttp;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
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

    private static final String PARTIAL_REQUEST = "GET /hosts HTTP/1.1\r\nHost: localhost\r\nX: ";
    private static final String LIVENESS_PATH = "/q/health/live";

    /** Each client sends the beginning of a request, and then one byte before each probe. */
    @Tag("long")
    @ParameterizedTest
    @CsvSource({
        "/hosts,'GET /hosts HTTP/1.1\r\nHost: localhost\r\nX: '",
        "/hosts,''",
        "/hosts,'POST /plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{'",
        "/q/health/live,'GET /q/health/live HTTP/1.1\r\nHost: localhost\r\nX: '",
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

    /** On both ports, the head of a first and of a second request; in parallel, because each takes ten seconds. */
    @Tag("long")
    @Test
    void closesConnectionsWhoseHeadsArriveSlowly() throws Exception {
        var service = node.startService();
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            var closed = new ArrayList<Future<?>>();
            for (var path : List.of("/hosts", LIVENESS_PATH)) {
                var whole = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
                for (var begun : List.of(PARTIAL_REQUEST, whole + PARTIAL_REQUEST)) {
                    closed.add(clients.submit(() -> awaitClosed(service.portOf(path), begun)));
                }
            }
            for (var each : closed) {
                each.get();
            }
        }
    }

    private static Void awaitClosed(int port, String begun) throws IOException {
        try (var slow = new SlowClients(port, 1, begun)) {
            slow.sendUntilClosed();
        }
        return null;
    }

    @ParameterizedTest
    @ValueSource(strings = {"/hosts", "/q/metrics"})
    void refusesAbsoluteTargetsOfForeignHosts(String path) throws IOException {
        var http = new RawHttp(node.startService().portOf(path));

        assertThat(http.get("http://evil.example" + path).status()).isEqualTo(421);
        assertThat(http.get("http://256.300.1.2" + path).status()).isEqualTo(421);
        assertThat(http.get("http://localhost" + path).status()).isEqualTo(200);
    }

    /** An HTTP/2 request has no time limit: an HTTP/1.1 answer shows that the service ignores the upgrade. */
    @Test
    void managementPortDoesNotSpeakHttp2() throws IOException {
        var service = node.startService();
        var http = new RawHttp(service.portOf(LIVENESS_PATH));
        var upgrade = http.get(
                LIVENESS_PATH,
                "Upgrade: h2c",
                "Connection: Upgrade, HTTP2-Settings",
                "HTTP2-Settings: AAMAAABkAAQAAP__");

        assertThat(upgrade.status()).isEqualTo(200);
        assertThat(http.flood("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", "", 0)
                        .text())
                .isEmpty();
    }

    @Test
    void whatIsNoRequestIsRefused() throws IOException {
        var service = node.startService();
        for (var port : List.of(service.port(), service.managementPort())) {
            assertStatus(port, "nonsense\r\n\r\n", 400);
            assertStatus(port, "GET /hosts nonsense HTTP/1.1\r\nHost: localhost\r\n\r\n", 400);
            assertStatus(port, "GET /" + "x".repeat(5_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414);
            assertStatus(port, "GET /hosts HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(70_000) + "\r\n\r\n", 431);
            assertStatus(port, "GET /hosts?user=%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400);
            assertStatus(port, "GET /% HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400);
            var head = new RawHttp(port).send("HEAD /% HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            assertThat(head.status()).isEqualTo(400);
            assertThat(head.text()).doesNotContain("{");
        }
    }

    private static void assertStatus(int port, String request, int status) throws IOException {
        assertThat(new RawHttp(port).send(request).status()).isEqualTo(status);
    }

    /** Prometheus stores a series for each label. */
    @Tag("long")
    @Test
    void invalidRequestsAddNoMetricSeries() throws IOException {
        var service = node.startService();
        sendInvalidRequests(service, 1);
        var before = metricSeries(service);

        sendInvalidRequests(service, 100);

        assertThat(metricSeries(service)).isEqualTo(before).noneMatch(line -> line.contains("attacker"));
    }

    private static void sendInvalidRequests(Node.Service service, int times) throws IOException {
        for (var port : List.of(service.port(), service.managementPort())) {
            var http = new RawHttp(port);
            for (var i = 0; i < times; i++) {
                http.get("/attacker-" + i);
                http.get("/attacker-" + i + "/%zz");
                http.get("/attacker-" + i, "X-Forwarded-For: attacker", "Origin: http://attacker-" + i);
                http.get("/violations/attacker-" + i + "?attacker=" + i);
                http.send(
                        "GET /attacker-%d HTTP/1.1\r\nHost: attacker-%d\r\nConnection: close\r\n\r\n".formatted(i, i));
                http.send("POST /attacker-%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"
                        .formatted(i));
                http.send("ATTACKER%d /hosts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".formatted(i));
            }
        }
    }

    private static Set<String> metricSeries(Node.Service service) throws IOException {
        return new RawHttp(service.portOf("/q/metrics"))
                .get("/q/metrics")
                .text()
                .lines()
                .filter(line -> line.startsWith("http_server"))
                .map(line -> line.substring(0, line.lastIndexOf(' ')))
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
