package dev.genv.enforcer.e2e.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.sse.SseClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Clients get the events that they missed while the packaged service was restarted. */
class RestartIT extends NodeSuite {

    @BeforeEach
    void setUp() throws IOException {
        var data = Files.createDirectory(
                directory.resolve("data"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        node.state.write();
        node.set("DATA_DIR", data).set("MODE", "audit").set("GRACE", "0s");
    }

    @Test
    void clientGetsTheEventsThatItMissedWhileTheServiceWasKilled() throws Exception {
        node.set("NON_ENV_PROCESSES", "audit");
        try (var stray = Child.withEnvironment(Map.of())) {
            var service = node.startService();
            new ServiceClient(service).awaitObservation(); // the event of the start comes before it
            String known;
            try (var client = SseClient.connect(service.port(), "/events")) {
                await().until(() -> !client.lastId().isEmpty());
                known = client.lastId();
                node.gpus.process(0, stray.pid(), "10");
                assertThat(nextType(client)).isEqualTo("violation_opened");
                assertThat(nextType(client)).isEqualTo("action");
            }
            service.kill();
            service = node.startService();
            node.gpus.noProcesses();
            assertThat(typesAfter(service.port(), known, 4))
                    .containsExactly("violation_opened", "action", "service_started", "violation_resolved");
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
        try (var client = SseClient.connect(port, "/events", "Last-Event-ID", known)) {
            while (types.size() < count) {
                types.add(nextType(client));
            }
        }
        return types;
    }
}
