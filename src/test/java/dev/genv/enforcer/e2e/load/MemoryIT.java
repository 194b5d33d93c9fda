package dev.genv.enforcer.e2e.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packaged service with the heap of the image, with clients that request large answers and do not read them, while users write other large state files in every cycle. It stays below the memory limit of the chart.
 */
@Tag("long")
class MemoryIT extends NodeSuite {
    private static final int CLIENTS = 40;
    private static final int PIPELINING = 60;
    private static final int PIPELINED = 2_000;
    private static final int CYCLES = 5;
    private static final int ENVIRONMENTS = 1_300;

    /** Paths of the same resource. */
    private static final List<String> SNAPSHOTS = List.of("/snapshot", "/snapshot/", "/snapshot;x=1", "/snapshot/;x");

    private final List<Socket> clients = new ArrayList<>();

    @AfterEach
    void disconnect() throws IOException {
        for (var client : clients) {
            client.close();
        }
    }

    @Test
    void survivesClientsThatDoNotReadLargeAnswers() throws IOException {
        Requirements.root();
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            var environments = new LongEnvironments(node, shell, ENVIRONMENTS);
            environments.write(0);
            var service =
                    node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 1).startService();
            var serviceClient = new ServiceClient(service);
            await().ignoreExceptions()
                    .until(() -> serviceClient
                                    .json("/hosts")
                                    .path(0)
                                    .path("environments")
                                    .asInt()
                            == ENVIRONMENTS);
            for (var cycle = 1; cycle <= CYCLES; cycle++) {
                for (var client = 0; client < CLIENTS; client++) {
                    sendRequest(service.port(), SNAPSHOTS.get(client % SNAPSHOTS.size()));
                    sendRequest(service.port(), "/violations?limit=1000");
                }
                environments.write(cycle);
                awaitObservation(serviceClient);
            }
            assertThat(service.process().isAlive()).isTrue();
            assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
            // The clients are still connected.
            for (var path : List.of("/snapshot", "/violations")) {
                await(path).ignoreExceptions().until(() -> serviceClient.status(path) == 200);
            }
        }
    }

    @Test
    void survivesClientsThatPipelineWithoutReading() throws Exception {
        var service = node.startService();
        var serviceClient = new ServiceClient(service);
        try (var metrics = pipeline(service, "/q/metrics");
                var hosts = pipeline(service, "/hosts")) {
            metrics.awaitFloodsClosed();
            hosts.awaitFloodsClosed();
        }
        assertThat(service.process().isAlive()).as("%s", service.outputLines()).isTrue();
        for (var path : List.of("/q/health/live", "/hosts")) {
            await(path).ignoreExceptions().until(() -> serviceClient.status(path) == 200);
        }
        assertThat(service.process().isAlive()).isTrue();
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
    }

    private static SlowClients pipeline(Node.Service service, String path) throws IOException {
        var request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
        return new SlowClients(service.portOf(path), PIPELINING, "").flood(request.repeat(PIPELINED));
    }

    /** Answers can be late under this load, so requests are repeated. */
    private static void awaitObservation(ServiceClient serviceClient) {
        var observed = new HashSet<String>();
        await().ignoreExceptions().until(() -> {
            observed.add(serviceClient.observe().time());
            return observed.size() > 2;
        });
    }

    private void sendRequest(int port, String path) throws IOException {
        var client = new Socket(InetAddress.getLoopbackAddress(), port);
        clients.add(client);
        var request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
        client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    }
}
