package dev.genv.enforcer.e2e.load;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.sse.SseClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The packaged service with clients that follow its events, some of which do not read. */
@Tag("long")
class StreamIT extends NodeSuite {
    private static final int READING = 15;
    private static final int STALLED = 5;
    private static final int CYCLES = 10;
    /** In each cycle as many violations appear, and those of the cycle before are resolved. */
    private static final int USERS = 100;

    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final List<SseClient> reading = new ArrayList<>();
    private final List<Socket> stalled = new ArrayList<>();

    @AfterEach
    void disconnect() throws IOException {
        reading.forEach(SseClient::close);
        for (var socket : stalled) {
            socket.close();
        }
    }

    @Test
    void clientsThatReadGetEveryEventBesideOthersThatDoNot() throws Exception {
        Requirements.root();
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            var environments = new LongEnvironments(node, shell, USERS);
            environments.write(0);
            var service =
                    node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 1).startService();
            var client = new ServiceClient(service);
            await().atMost(HANG)
                    .ignoreExceptions()
                    .until(() ->
                            client.json("/violations?status=active&limit=1000").size() == USERS);
            for (var i = 0; i < READING; i++) {
                reading.add(SseClient.connect(service.port(), "/violations/stream"));
            }
            for (var i = 0; i < STALLED; i++) {
                stalled.add(stall(service));
            }
            for (var cycle = 1; cycle <= CYCLES; cycle++) {
                environments.write(cycle);
                for (var reader : reading) {
                    awaitCycle(reader, cycle);
                }
            }
            for (var socket : stalled) {
                awaitDisconnection(socket);
            }
            assertThat(service.process().isAlive()).isTrue();
            assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());

            service.process().destroy();
            assertThat(service.process().waitFor(HANG.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            for (var reader : reading) {
                assertThat(reader.next().type()).isEqualTo("end");
            }
        }
    }

    /** Every violation of the cycle arrives once and in its order. Events of problems have numbers too, and are not in this stream. */
    private static void awaitCycle(SseClient reader, int cycle) throws Exception {
        var opened = 0;
        var resolved = 0;
        var latest = -1L;
        while (opened < USERS || resolved < USERS) {
            var event = reader.next();
            var sequence = Long.parseLong(event.id().substring(event.id().lastIndexOf('-') + 1));
            assertThat(sequence).isGreaterThan(latest);
            latest = sequence;
            var user = new ObjectMapper()
                    .readTree(event.data())
                    .at("/violation/user")
                    .asText();
            switch (event.type()) {
                case "violation_opened" -> {
                    assertThat(user).startsWith(cycle + "-");
                    opened++;
                }
                case "violation_resolved" -> {
                    assertThat(user).startsWith((cycle - 1) + "-");
                    resolved++;
                }
                default -> assertThat(event.type()).isEqualTo("action");
            }
        }
    }

    private static Socket stall(Node.Service service) throws IOException {
        var socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), service.port()));
        socket.getOutputStream()
                .write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    /** Waits without reading: a write to a closed connection fails, and one letter is no request. */
    private static void awaitDisconnection(Socket socket) {
        await().atMost(HANG).pollInterval(PAUSE).until(() -> {
            try {
                socket.getOutputStream().write('G');
                return false;
            } catch (IOException e) {
                return true;
            }
        });
    }
}
