package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What prevents the packaged program from starting: each is reported in one sentence, without a stack trace. */
class StartIT extends NodeSuite {
    @ParameterizedTest
    @ValueSource(strings = {"HTTP", "MANAGEMENT"})
    void portInUseAbortsTheStartBeforeAnyAction(String name) throws IOException {
        try (var other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            node.set("INTERVAL", "1s")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("GRACE", "0s")
                    .variable("QUARKUS_%s_PORT".formatted(name), Integer.toString(other.getLocalPort()));

            assertFailsToStart(
                    node.run(),
                    1,
                    "genv-enforcer cannot start: it cannot listen on 127.0.0.1 port %1$d; the port is in use, or this machine does not have the address (QUARKUS_%2$s_HOST, QUARKUS_%2$s_PORT)"
                            .formatted(other.getLocalPort(), name));
            assertThat(stray.isAlive()).isTrue();
        }
    }

    @Test
    void reportsAllInvalidVariablesAtOnceAndEscapesThem() throws IOException {
        node.set("MODE", "audit\u001b[2J\nGENV_ENFORCER_X=fine").variable("QUARKUS_MANAGEMENT_PORT", "abc");

        assertFailsToStart(
                node.run(),
                2,
                "GENV_ENFORCER_MODE=audit\\u001b[2J\\u000aGENV_ENFORCER_X=fine: expected enforce or audit",
                "QUARKUS_MANAGEMENT_PORT=abc: expected a port, 0 to 65535");
    }

    private static void assertFailsToStart(Node.Output output, int exitCode, String... sentences) {
        assertThat(output.log()).containsExactlyInAnyOrder(sentences);
        assertThat(output.out()).noneMatch(line -> line.contains("ERROR") || line.contains("[io.quarkus"));
        assertThat(output.exitCode()).isEqualTo(exitCode);
    }
}
