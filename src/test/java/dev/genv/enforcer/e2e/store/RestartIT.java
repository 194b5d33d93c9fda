package dev.genv.enforcer.e2e.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
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

/** The packaged service records what it observes. After a restart it answers about it, and clients get the events that they missed. */
class RestartIT extends NodeSuite {
    private static final String REPLAY = "/plan?since=2020-01-01T00:00:00Z";
    private static final String STRAYS = "{\"policy\": {\"non_env_processes\": true}}";

    @BeforeEach
    void setUp() throws IOException {
        var data = Files.createDirectory(
                directory.resolve("data"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        node.state.write();
        node.set("DATA_DIR", data).set("MODE", "audit").set("GRACE", "0s");
    }

    @Test
    void replaysAndReportsTheRunsOfTheService() throws IOException {
        try (var shell = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, shell.pid(), "10");
            var stray = observeStrayAndStop();
            node.gpus.noProcesses().process(0, shell.pid(), "10");

            var again = new ServiceClient(node.startService());

            var replay = again.post(REPLAY, STRAYS);
            assertThat(replay.path("totals").path("terminations").asInt()).isOne();
            assertThat(replay.path("complete").asBoolean()).isTrue();
            assertThat(replay.path("recorded_since")).isEqualTo(replay.path("from"));
            var action = replay.path("users").path(0).path("actions").path(0);
            assertThat(action.path("pid").asInt()).isEqualTo(stray);
            assertThat(action.path("message").asText()).contains("not running in a GPU environment");
            assertThat(shell.isAlive()).isTrue();
            assertReport(again);
        }
    }

    /** Returns the pid of a process outside of all environments that one run of the service observed. */
    private int observeStrayAndStop() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(1, stray.pid(), "10");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> client.post(REPLAY, STRAYS).findValues("pid").stream()
                    .map(JsonNode::asInt)
                    .anyMatch(pid -> pid == stray.pid()));
            service.stop();
            return stray.pid();
        }
    }

    /** The first run has at least two different observations, and the time between them counts. */
    private void assertReport(ServiceClient service) throws IOException {
        try (var second = Child.withEnvironment(Map.of())) {
            node.gpus.process(2, second.pid(), "10");
            await().until(() ->
                    service.json("/report").at("/hosts/0/observed_hours").asDouble() > 0);
        }
        var usage = service.json("/report").path("usage");
        assertThat(usage.findValuesAsText("host")).contains("gpu-1");
        assertThat(usage.findValues("held_device_hours")).anyMatch(hours -> hours.asDouble() > 0);
        assertThat(service.text("/report?format=csv"))
                .startsWith("user,host,observed_hours,")
                .contains("\"gpu-1\"");
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
