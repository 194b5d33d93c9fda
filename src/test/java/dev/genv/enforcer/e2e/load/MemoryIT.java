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
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The packaged service with a database and the heap of the image, with clients that request large answers and do not read them, while
 * users write other large state files in every cycle. It stays below the memory limit of the chart, also when it reads its database,
 * and the database keeps its size.
 */
@Tag("long")
class MemoryIT extends NodeSuite {
    private static final int CLIENTS = 40;
    private static final int PIPELINING = 60;
    private static final int PIPELINED = 2_000;
    private static final int CYCLES = 5;
    private static final long MAX_BYTES = 256 << 20;

    /** Paths of the same resource. */
    private static final List<String> SNAPSHOTS = List.of("/snapshot", "/snapshot/", "/snapshot;x=1", "/snapshot/;x");

    private final List<Socket> clients = new ArrayList<>();
    private Path data;

    @AfterEach
    void disconnect() throws IOException {
        for (var client : clients) {
            client.close();
        }
    }

    /** Users with long names have a violation in every cycle that is over in the next one. */
    @ParameterizedTest
    @CsvSource({"12000, 0, 100", "1300, 4000, 1"})
    void survivesLargeStatesThatAreReplacedInEachCycle(int environments, int nameLength, int quota) throws IOException {
        Requirements.root();
        data = Files.createDirectory(
                directory.resolve("data"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        node.set("DATA_DIR", data).set("MODE", "audit").set("MAX_DEVICES_PER_USER", quota);
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            write(0, environments, nameLength, shell);
            var service = node.startService();
            awaitEnvironments(service, environments);
            for (var cycle = 1; cycle <= CYCLES; cycle++) {
                for (var client = 0; client < CLIENTS; client++) {
                    sendRequest(service.port(), SNAPSHOTS.get(client % SNAPSHOTS.size()));
                    sendRequest(service.port(), "/violations?limit=1000");
                }
                write(cycle, environments, nameLength, shell);
                awaitEnvironments(service, environments);
            }
            check(service);
            service.kill();
            service = node.startService();
            awaitEnvironments(service, environments);
            check(service);
        }
    }

    /** Environments of a user each. The name of each user begins with the cycle. */
    private void write(int cycle, int environments, int nameLength, Child shell) throws IOException {
        var eids = IntStream.range(0, environments)
                .mapToObj(user -> "%d-%d".formatted(cycle, user))
                .toArray(String[]::new);
        var name = "\u20ac" + "x".repeat(nameLength);
        for (var eid : eids) {
            node.state.env(eid, TestUsers.ATTACKER_UID, eid + name, null, shell.pid());
        }
        node.state.device(0, eids).device(1, eids).device(2).write();
        for (var eid : eids) {
            node.state.withoutEnv(eid);
        }
    }

    /** Waits for a whole cycle after the present state was written. Answers can be late under this load, so requests are repeated. */
    private static void awaitEnvironments(Node.Service service, int environments) throws IOException {
        var client = new ServiceClient(service);
        var observed = new HashSet<String>();
        await().ignoreExceptions().until(() -> {
            observed.add(client.observe().time());
            return observed.size() > 2
                    && client.json("/hosts").path(0).path("environments").asInt() == environments;
        });
    }

    private void check(Node.Service service) throws IOException {
        assertThat(service.process().isAlive()).as("%s", service.outputLines()).isTrue();
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
        var client = new ServiceClient(service);
        // The clients are still connected.
        for (var path : List.of("/snapshot", "/violations")) {
            await(path).ignoreExceptions().until(() -> client.status(path) == 200);
        }
        assertThat(client.observe().problems()).noneMatch(code -> code.startsWith("data"));
        try (var files = Files.list(data)) {
            assertThat(files.mapToLong(file -> file.toFile().length()).sum()).isLessThan(MAX_BYTES);
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
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
    }

    private static SlowClients pipeline(Node.Service service, String path) throws IOException {
        var request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
        return new SlowClients(service.portOf(path), PIPELINING, "").flood(request.repeat(PIPELINED));
    }

    private void sendRequest(int port, String path) throws IOException {
        var client = new Socket(InetAddress.getLoopbackAddress(), port);
        clients.add(client);
        var request = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path);
        client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    }
}
