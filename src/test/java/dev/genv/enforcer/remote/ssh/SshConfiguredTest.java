package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an SSH configuration changes, servers to jump by among it. */
class SshConfiguredTest {
    @TempDir
    Path directory;

    private Fleet fleet;
    private FakeSshd server;
    private FakeSshd bastion;

    @BeforeEach
    void start() throws IOException {
        fleet = new Fleet(directory);
        server = fleet.server("127.0.0.2");
        bastion = fleet.server("127.0.0.3");
    }

    @AfterEach
    void close() throws Exception {
        fleet.close();
    }

    @Test
    void anAliasIsReachedAsTheConfigurationSays() throws Exception {
        server.user("raz");
        var config = """
                Host gpu-1
                  HostName 127.0.0.2
                  Port %d
                  User raz
                  IdentityFile %s
                """.formatted(server.port(), fleet.key.file());

        assertReached(fleet.connect(fleet.configured(config, null, server.known()), "gpu-1"));
        assertRefused(
                fleet.connect(fleet.configured(config, "root", server.known()), "gpu-1"),
                ProblemCode.AUTHENTICATION_FAILED);
    }

    @Test
    void theListOfHostsCountsMore() throws Exception {
        server.user("raz");
        var config = "Host 127.0.0.*\nPort 1\nUser nobody\nIdentityFile " + fleet.key.file();

        assertReached(fleet.connect(fleet.configured(config, null, server.known()), "raz@" + server.target()));
    }

    @Test
    void aHostMayHaveItsOwnKnownHosts() throws Exception {
        var own = fleet.file("own_hosts", server.known());
        var config = "IdentityFile %s\nHost 127.0.0.2\nUserKnownHostsFile %s/missing %s"
                .formatted(fleet.key.file(), directory, own);
        var access = fleet.configured(config, "root", bastion.known());

        assertReached(fleet.connect(access, server.target()));
        assertReached(fleet.connect(access, bastion.target()));
        assertRefused(
                fleet.connect(
                        fleet.configured(config.replace("own_hosts", "others"), "root", server.known()),
                        server.target()),
                ProblemCode.HOST_KEY_UNKNOWN);
    }

    @Test
    void aHostIsReachedByWayOfAnother() throws Exception {
        var connection = jumping(server.known(), bastion.known());

        for (var i = 0; i < 5; i++) {
            var text = "x".repeat(300_000);
            assertThat(connection
                            .run(new Request("cat", text, Fleet.PATIENCE, 1 << 20))
                            .output())
                    .isEqualTo(text);
        }
        assertThat(bastion.connections()).isEqualTo(1);
        assertThat(server.connections()).isEqualTo(1);
        assertThat(bastion.commands()).isZero();

        connection.close();
        await().untilAsserted(() ->
                assertThat(bastion.connected() + server.connected()).isZero());
    }

    @Test
    void aHostIsReachedByWayOfTwo() throws Exception {
        var second = fleet.server("127.0.0.4");
        var access = fleet.configured(
                config("ProxyJump %s,root@%s".formatted(bastion.target(), second.target())),
                "root",
                server.known() + bastion.known() + second.known());

        assertReached(fleet.connect(access, "gpu-1"));
        assertThat(second.connections()).isEqualTo(1);
        assertThat(bastion.connections()).isEqualTo(1);
    }

    @Test
    void theServerOnTheWayMustBeKnownToo() throws Exception {
        assertRefused(jumping(server.known()), ProblemCode.HOST_KEY_UNKNOWN)
                .startsWith("on the way, at %s: its key (".formatted(bastion.target()));
        assertRefused(jumping(bastion.known()), ProblemCode.HOST_KEY_UNKNOWN).startsWith("its key (");
        assertThat(server.commands()).isZero();
        await().untilAsserted(() ->
                assertThat(bastion.connected() + server.connected()).isZero());
    }

    @Test
    void theWayIsFoundAgainWhenTheServerOnItWasGone() throws Exception {
        var connection = jumping(server.known(), bastion.known());
        assertReached(connection);

        bastion.stop();
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).startsWith("on the way, at ");
        bastion.start();
        fleet.pass(Duration.ofSeconds(1));
        assertReached(connection);

        server.cut();
        assertReached(connection);
        await().untilAsserted(() -> assertThat(bastion.connected()).isEqualTo(1));
    }

    @Test
    void noWayIsLeftBehindWhereTheHostFallsAwayAgainAndAgain() throws Exception {
        var connection = jumping(server.known(), bastion.known());
        for (var i = 1; i <= 5; i++) {
            assertReached(connection);
            server.cut();
            await().until(() -> server.connected() == 0);
        }
        assertReached(connection);
        await().untilAsserted(() -> assertThat(bastion.connected()).isEqualTo(1));

        connection.close();
        await().untilAsserted(() -> assertThat(bastion.connected()).isZero());
    }

    @Test
    void aHostThatTheServerOnTheWayCannotReachIsTold() throws Exception {
        var connection = jumping(server.known(), bastion.known());
        server.stop();

        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).contains("127.0.0.3 does not connect to it");
        await().untilAsserted(() -> assertThat(bastion.connected()).isZero());
    }

    @Test
    void aCommandThatHangsBehindAnotherServerIsBrokenOff() throws Exception {
        var connection = jumping(server.known(), bastion.known());
        server.program("p", (_, _, _) -> {
            Thread.sleep(Duration.ofMinutes(10));
            return 0;
        });

        var answer =
                fleet.breakOff(connection, timeout -> new Request("p", "x".repeat(8 << 20), timeout, 100), _ -> true);

        assertThat(answer.broken()).extracting(Answer.Broken::code).isEqualTo(ProblemCode.TIMEOUT);
        fleet.pass(Duration.ofMinutes(1));
        assertReached(connection);
    }

    @Test
    void whatIsNotUnderstoodIsNotGuessed() throws Exception {
        assertThatThrownBy(() -> fleet.configured("Match host gpu-1\nUser raz\n", "root", ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("config: line 1: Match is not understood here");
        assertRefused(
                        fleet.connect(
                                fleet.configured(config("ProxyCommand nc %h %p"), "root", server.known()), "gpu-1"),
                        ProblemCode.SSH_FAILED)
                .contains("ProxyCommand for gpu-1 is not understood here");
        assertRefused(fleet.connect(fleet.configured(config("Port x"), "root", ""), "other"), ProblemCode.SSH_FAILED)
                .contains("not a port");
    }

    private KeptExchange jumping(String... known) throws IOException {
        var access = fleet.configured(config("ProxyJump " + bastion.target()), "root", String.join("", known));
        return fleet.connect(access, "gpu-1");
    }

    private String config(String more) {
        return "Host gpu-1\nHostName 127.0.0.2\nPort %d\nHost *\nIdentityFile %s\n%s\n"
                .formatted(server.port(), fleet.key.file(), more);
    }

    private static void assertReached(KeptExchange connection) throws Exception {
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }
}
