package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What prevents the packaged program from starting: each is reported in one sentence, without a stack trace. */
class StartIT extends NodeSuite {
    @Test
    void reportsPortInUse() throws IOException {
        try (var other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            node.set("INTERVAL", "1s").variable("QUARKUS_HTTP_PORT", Integer.toString(other.getLocalPort()));

            assertFailsToStart(
                    node.run(),
                    1,
                    "genv-enforcer cannot start: it cannot listen on 127.0.0.1 port %d; the port is in use, or this machine does not have the address (QUARKUS_HTTP_HOST, QUARKUS_HTTP_PORT)"
                            .formatted(other.getLocalPort()));
        }
    }

    @Test
    void reportsManagementPortInUse() throws IOException {
        try (var other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            node.set("INTERVAL", "1s").variable("QUARKUS_MANAGEMENT_PORT", Integer.toString(other.getLocalPort()));

            assertFailsToStart(
                    node.run(),
                    1,
                    "genv-enforcer cannot start: it cannot listen on 127.0.0.1 port %d; the port is in use, or this machine does not have the address (QUARKUS_MANAGEMENT_HOST, QUARKUS_MANAGEMENT_PORT)"
                            .formatted(other.getLocalPort()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP", "MANAGEMENT"})
    void reportsUnknownHostName(String port) throws IOException {
        node.set("INTERVAL", "1s").variable("QUARKUS_%s_HOST".formatted(port), "gpu-1.invalid");

        assertFailsToStart(
                node.run(),
                1,
                "genv-enforcer cannot start: it cannot listen on gpu-1.invalid port 0; the host name cannot be resolved (QUARKUS_%1$s_HOST, QUARKUS_%1$s_PORT)"
                        .formatted(port));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1s"})
    void reportsValuesThatQuarkusRefuses(String interval) throws IOException {
        node.set("INTERVAL", interval)
                .variable("QUARKUS_LOG_LEVEL", "loud")
                .variable("QUARKUS_HTTP_IDLE_TIMEOUT", "soon");

        assertFailsToStart(
                node.run(),
                2,
                "QUARKUS_LOG_LEVEL=loud: Unknown level \"LOUD\"",
                "QUARKUS_HTTP_IDLE_TIMEOUT=soon: Invalid duration: soon");
    }

    @ParameterizedTest
    @ValueSource(strings = {"QUARKUS_HTTP_PORT", "QUARKUS_MANAGEMENT_PORT"})
    void reportsInvalidPortAsASetting(String name) throws IOException {
        node.set("INTERVAL", "1s").variable(name, "abc");

        assertFailsToStart(node.run(), 2, name + "=abc: expected a port, 0 to 65535");
    }

    @Test
    void escapesInvalidValues() throws IOException {
        node.set("MODE", "audit\u001b[2J\nGENV_ENFORCER_X=fine");

        assertFailsToStart(
                node.run(),
                2,
                "GENV_ENFORCER_MODE=audit\\u001b[2J\\u000aGENV_ENFORCER_X=fine: expected enforce or audit");
    }

    private static void assertFailsToStart(Node.Output output, int exitCode, String... sentences) {
        assertThat(output.log()).containsExactlyInAnyOrder(sentences);
        assertThat(output.out()).noneMatch(line -> line.contains("ERROR") || line.contains("[io.quarkus"));
        assertThat(output.exitCode()).isEqualTo(exitCode);
    }
}
