package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The effects of an SSH configuration, including jump hosts. */
class SshConfiguredTest extends ServerTest {
    private FakeSshd bastion;

    @BeforeEach
    void prepare() throws IOException {
        bastion = server("127.0.0.3");
    }

    @Test
    void usesTheKnownHostsFileOfTheConfiguration() throws Exception {
        var own = writeFile("own_hosts", server.knownHostsLine());
        var config = "IdentityFile %s\nHost 127.0.0.2\nUserKnownHostsFile %s/missing %s"
                .formatted(key.file(), directory, own);
        var access = accessWithConfig(config, "root", bastion.knownHostsLine());

        assertReached(connect(access, server.target()));
        assertReached(connect(access, bastion.target()));
        assertRefused(
                connect(
                        accessWithConfig(config.replace("own_hosts", "others"), "root", server.knownHostsLine()),
                        server.target()),
                ProblemCode.HOST_KEY_UNKNOWN);
    }

    @Test
    void connectsThroughAJumpHost() throws Exception {
        var connection = connectThroughBastion(server.knownHostsLine(), bastion.knownHostsLine());

        for (var i = 0; i < 5; i++) {
            var text = "x".repeat(300_000);
            assertThat(connection.request(request("echo", text, HANG, 1 << 20)).output())
                    .isEqualTo(text);
        }
        assertThat(bastion.connections()).isEqualTo(1);
        assertThat(server.connections()).isEqualTo(1);
        assertThat(bastion.commands()).isZero();

        connection.close();
        await().untilAsserted(() -> assertThat(bastion.activeConnections() + server.activeConnections())
                .isZero());
    }

    @Test
    void connectsThroughTwoJumpHosts() throws Exception {
        var second = server("127.0.0.4");
        var access = accessWithConfig(
                config("ProxyJump %s,root@%s".formatted(bastion.target(), second.target())),
                "root",
                server.knownHostsLine() + bastion.knownHostsLine() + second.knownHostsLine());

        assertReached(connect(access, "gpu-1"));
        assertThat(second.connections()).isEqualTo(1);
        assertThat(bastion.connections()).isEqualTo(1);
    }

    @Test
    void checksTheHostKeyOfTheJumpHost() throws Exception {
        assertRefused(connectThroughBastion(server.knownHostsLine()), ProblemCode.HOST_KEY_UNKNOWN)
                .startsWith("at the jump host %s: its key (".formatted(bastion.target()));
        assertRefused(connectThroughBastion(bastion.knownHostsLine()), ProblemCode.HOST_KEY_UNKNOWN)
                .startsWith("its key (");
        assertThat(server.commands()).isZero();
        await().untilAsserted(() -> assertThat(bastion.activeConnections() + server.activeConnections())
                .isZero());
    }

    @Test
    void reconnectsWhenTheJumpHostReturnsAndLeaksNoJumpConnections() throws Exception {
        var connection = connectThroughBastion(server.knownHostsLine(), bastion.knownHostsLine());
        assertReached(connection);

        bastion.stop();
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).startsWith("at the jump host ");
        bastion.start();
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);

        for (var i = 1; i <= 5; i++) {
            server.cutConnections();
            await().until(() -> server.activeConnections() == 0);
            assertReached(connection);
        }
        await().untilAsserted(() -> assertThat(bastion.activeConnections()).isEqualTo(1));
    }

    @Test
    void reportsMachineThatTheJumpHostCannotReach() throws Exception {
        var connection = connectThroughBastion(server.knownHostsLine(), bastion.knownHostsLine());
        server.stop();

        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).contains("127.0.0.3 does not connect to it");
        await().untilAsserted(() -> assertThat(bastion.activeConnections()).isZero());
    }

    @Test
    void refusesUnsupportedConfiguration() throws Exception {
        assertRefused(
                        connect(
                                accessWithConfig(config("ProxyCommand nc %h %p"), "root", server.knownHostsLine()),
                                "gpu-1"),
                        ProblemCode.SSH_FAILED)
                .contains("ProxyCommand for gpu-1 is not understood here");
    }

    private Connection connectThroughBastion(String... known) throws IOException {
        var access = accessWithConfig(config("ProxyJump " + bastion.target()), "root", String.join("", known));
        return connect(access, "gpu-1");
    }

    private String config(String more) {
        return "Host gpu-1\nHostName 127.0.0.2\nPort %d\nHost *\nIdentityFile %s\n%s\n"
                .formatted(server.port(), key.file(), more);
    }
}
