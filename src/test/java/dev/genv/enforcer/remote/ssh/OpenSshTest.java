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
import java.nio.file.Path;
import java.time.Duration;
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
    void reportsKilledCommandAndItsSignal() throws Exception {
        var answer = connection.run(TestFleet.request("kill -KILL $$"));

        assertThat(answer.exitCode()).isNull();
        assertThat(answer.interruption())
                .isEqualTo(
                        new CommandResult.Interruption(ProblemCode.AGENT_KILLED, "it was terminated by signal KILL"));
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

    private SshAccess access(String user) {
        return access(user, HANG);
    }

    private SshAccess access(String user, Duration timeout) {
        return fleet.access(new SshSettings(user, hosts.identity(), null, null, hosts.knownHosts(), timeout));
    }
}
