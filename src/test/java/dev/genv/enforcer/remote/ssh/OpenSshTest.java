package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.LoginFailure.assertRefused;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a real OpenSSH server. */
class OpenSshTest {
    @TempDir
    Path directory;

    private RealHosts hosts;
    private RealSshd host;
    private TestFleet fleet;
    private CommandConnection connection;

    @BeforeEach
    void start() throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        host = hosts.start("gpu-1");
        fleet = new TestFleet(directory);
        connection = fleet.connect(access("root"), host.target());
    }

    @AfterEach
    void close() throws Exception {
        if (fleet != null) {
            fleet.close();
        }
        if (hosts != null) {
            hosts.close();
        }
    }

    @Test
    void commandsShareOneConnection() throws Exception {
        for (var i = 0; i < 30; i++) {
            var answer = connection.run(new CommandRequest(
                    "head -n 1; echo e >&2; exit 3", "x".repeat(i * 10_000), TestFleet.LONG_TIMEOUT, 1 << 20));
            assertThat(answer).isEqualTo(new CommandResult("x".repeat(i * 10_000) + "\n", "e\n", 3, null));
        }
        assertThat(host.log().split("Accepted publickey", -1)).hasSize(2);
    }

    @Test
    void sudoReceivesTheInput() throws Exception {
        var admin = fleet.connect(access(RealSshd.ADMIN), host.target());

        assertThat(admin.run(new CommandRequest("sudo -n /bin/sh", "id -u; id -un; exit", TestFleet.LONG_TIMEOUT, 100))
                        .output())
                .isEqualTo("0\nroot\n");
    }

    @Test
    void reportsKilledCommandAndItsSignal() throws Exception {
        var answer = connection.run(TestFleet.request("kill -KILL $$"));

        assertThat(answer.exitCode()).isNull();
        assertThat(answer.interruption())
                .isEqualTo(
                        new CommandResult.Interruption(ProblemCode.AGENT_KILLED, "it was terminated by signal KILL"));
    }

    @Test
    void abortsEndlessOutputAndReconnects() throws Exception {
        for (var i = 0; i < 15; i++) {
            fleet.advanceTime(Duration.ofMinutes(1));
            var answer = connection.run(new CommandRequest("cat /dev/zero", "", TestFleet.LONG_TIMEOUT, 100_000));
            assertThat(answer.interruption())
                    .extracting(CommandResult.Interruption::code)
                    .isEqualTo(ProblemCode.ANSWER_TOO_LONG);
        }
        fleet.advanceTime(Duration.ofMinutes(1));
        assertThat(connection.run(TestFleet.request("echo fine")).output()).isEqualTo("fine\n");
    }

    @Test
    void hangingCommandsDoNotExhaustTheChannels() throws Exception {
        for (var i = 0; i < 12; i++) { // more than the parallel sessions that sshd allows on one connection
            fleet.advanceTime(Duration.ofMinutes(1));
            var answer = fleet.runUntilAborted(
                    connection,
                    timeout -> TestFleet.request("echo half; sleep 600", timeout),
                    each -> !each.output().isEmpty());
            assertThat(answer.interruption())
                    .extracting(CommandResult.Interruption::code)
                    .isEqualTo(ProblemCode.TIMEOUT);
            assertThat(answer.output()).isEqualTo("half\n");
        }
        fleet.advanceTime(Duration.ofMinutes(1));
        assertThat(connection.run(TestFleet.request("echo fine")).output()).isEqualTo("fine\n");
    }

    @Test
    void abortsCommandWhenTheLoginShellHangs() throws Exception {
        host.setLoginShell("case $2 in 'echo hang') exec sleep 600 ;; esac");

        assertThat(fleet.runUntilAborted(connection, timeout -> TestFleet.request("echo hang", timeout), _ -> true)
                        .interruption())
                .extracting(CommandResult.Interruption::code)
                .isEqualTo(ProblemCode.TIMEOUT);
        host.setLoginShell("");
        fleet.advanceTime(Duration.ofMinutes(1));
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void reportsConnectionLostDuringACommand() throws Exception {
        var task = new FutureTask<>(() -> connection.run(TestFleet.request("echo begun; sleep 600")));
        Thread.startVirtualThread(task);
        await().until(() -> !host.connections().isEmpty());

        await().until(() -> host.processes().stream()
                .anyMatch(each -> each.info().command().orElse("").endsWith("/sleep")));
        host.cutConnections();

        assertThat(task.get().interruption())
                .extracting(CommandResult.Interruption::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void reconnectsAtOnceAfterAServerRestart() throws Exception {
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
        host.stop();
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE);
        host.start();
        fleet.advanceTime(Duration.ofSeconds(1));
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();

        host.stop();
        host.start();
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void timesOutWhenTheMachineFreezes() throws Exception {
        var shortTimeoutConnection = fleet.connect(access("root", Duration.ofSeconds(3)), host.target());
        await().until(() -> fleet.isReached(shortTimeoutConnection));
        host.freeze();

        assertRefused(shortTimeoutConnection, ProblemCode.TIMEOUT, Duration.ofMillis(500))
                .contains("opens no channel");
        fleet.advanceTime(Duration.ofMinutes(1));
        assertRefused(shortTimeoutConnection, ProblemCode.CONNECT_TIMEOUT);

        host.thaw();
        await().until(() -> fleet.isReached(shortTimeoutConnection));
    }

    @Test
    void comparesTheHostKey() throws Exception {
        host.newHostKey();
        host.stop();
        host.start();
        assertRefused(connection, ProblemCode.HOST_KEY_CHANGED).contains("ssh-ed25519 SHA256:");

        fleet.advanceTime(Duration.ofMinutes(1));
        hosts.writeKnownHosts("");
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN);

        fleet.advanceTime(Duration.ofMinutes(1));
        hosts.writeKnownHosts();
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void reportsRefusedKeyAndItsUser() throws Exception {
        host.refuseKey();
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED).isEqualTo("it refuses the key of root");

        host.acceptKey();
        fleet.advanceTime(Duration.ofMinutes(1));
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void connectsThroughAJumpHost() throws Exception {
        var bastion = hosts.start("bastion");
        var config = "Host gpu\nHostName %s\nPort %d\nProxyJump root@%s\n"
                .formatted(host.address(), host.port(), bastion.target());
        var file = Files.writeString(directory.resolve("config"), config);
        var access = fleet.access(new SshSettings("root", hosts.identity(), null, file, hosts.knownHosts(), HANG));

        var far = fleet.connect(access, "gpu");

        assertThat(far.run(new CommandRequest(
                                "uname -n; head -n 1 | wc -c", "x".repeat(500_000), TestFleet.LONG_TIMEOUT, 100))
                        .output())
                .isEqualTo("gpu-1\n500001\n");
        assertThat(bastion.log()).contains("Accepted publickey for root");
        bastion.cutConnections();
        assertThat(far.run(TestFleet.request("true")).exitCode()).isZero();
    }

    private SshAccess access(String user) {
        return access(user, HANG);
    }

    private SshAccess access(String user, Duration timeout) {
        return fleet.access(new SshSettings(user, hosts.identity(), null, null, hosts.knownHosts(), timeout));
    }
}
