package dev.genv.enforcer.e2e.journal;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.sse.SseClient;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client that follows the events connects again after the service was killed and started again. */
class StreamRestartIT extends NodeSuite {
    private static final String HEADER = "Last-Event-ID";

    @BeforeEach
    void setUp() throws Exception {
        var journal = Files.createDirectory(
                directory.resolve("journal"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        node.state.write();
        node.set("DATA_DIR", journal).set("MODE", "audit").set("NON_ENV_PROCESSES", "audit");
    }

    @Test
    void clientGetsWhatItMissed() throws Exception {
        try (var stray = Child.running(List.of("sleep", "3600"), Map.of())) {
            var service = node.startService();
            assertThat(service.process().isAlive())
                    .as("%s", service.outputLines())
                    .isTrue();
            new ServiceClient(service).awaitObservation(); // the event of the start comes before it
            String known;
            try (var client = SseClient.connect(service.port(), "/events")) {
                await().atMost(HANG).until(() -> !client.lastId().isEmpty());
                known = client.lastId();
                node.gpus.process(0, stray.pid(), "10");
                assertThat(nextType(client)).isEqualTo("violation_opened");
                assertThat(nextType(client)).isEqualTo("action");
            }
            service.kill();
            service = node.startService();
            assertThat(typesAfter(service.port(), known, 3))
                    .containsExactly("violation_opened", "action", "service_started");
            node.gpus.noProcesses();
            assertThat(typesAfter(service.port(), known, 4)).endsWith("service_started", "violation_resolved");
            service.kill();
            service = node.startService();
            assertThat(typesAfter(service.port(), known, 5))
                    .as("after two restarts")
                    .containsExactly(
                            "violation_opened", "action", "service_started", "violation_resolved", "service_started");
        }
    }

    /** Without problems, because a slow machine reaches time limits. */
    private static String nextType(SseClient client) throws Exception {
        var type = client.next().type();
        return type.startsWith("problem_") ? nextType(client) : type;
    }

    private static List<String> typesAfter(int port, String known, int count) throws Exception {
        var types = new ArrayList<String>();
        try (var client = SseClient.connect(port, "/events", HEADER, known)) {
            while (types.size() < count) {
                types.add(nextType(client));
            }
        }
        return types;
    }
}
