package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.testsupport.RealHosts;
import dev.genv.enforcer.testsupport.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With the server that machines have. */
class OpenSshTest {
    @TempDir
    Path directory;

    private RealHosts hosts;
    private RealSshd host;
    private Fleet fleet;
    private KeptExchange connection;

    @BeforeEach
    void start() throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        host = hosts.start("gpu-1");
        fleet = new Fleet(directory);
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
    void commandsShareAConnection() throws Exception {
        for (var i = 0; i < 30; i++) {
            var answer = connection.run(
                    new Request("cat; echo e >&2; exit 3", "x".repeat(i * 10_000), Fleet.PATIENCE, 1 << 20));
            assertThat(answer).isEqualTo(new Answer("x".repeat(i * 10_000), "e\n", 3, null));
        }
        assertThat(host.log().split("Accepted publickey", -1)).hasSize(2);
    }

    @Test
    void sudoGetsTheInput() throws Exception {
        var admin = fleet.connect(access(RealSshd.ADMIN), host.target());

        assertThat(admin.run(new Request("sudo -n /bin/sh", "id -u\nid -un\n", Fleet.PATIENCE, 100))
                        .output())
                .isEqualTo("0\nroot\n");
    }

    @Test
    void aCommandThatIsKilledIsTold() throws Exception {
        var answer = connection.run(Fleet.request("kill -KILL $$"));

        assertThat(answer.exitCode()).isNull();
        assertThat(answer.broken())
                .isEqualTo(new Answer.Broken(ProblemCode.AGENT_KILLED, "it was ended by signal KILL"));
    }

    @Test
    void outputWithoutEndIsBrokenOffAndTheConnectionKept() throws Exception {
        for (var i = 0; i < 15; i++) {
            fleet.pass(Duration.ofMinutes(1));
            var answer = connection.run(new Request("cat /dev/zero", "", Fleet.PATIENCE, 100_000));
            assertThat(answer.broken()).extracting(Answer.Broken::code).isEqualTo(ProblemCode.ANSWER_TOO_LONG);
        }
        fleet.pass(Duration.ofMinutes(1));
        assertThat(connection.run(Fleet.request("echo fine")).output()).isEqualTo("fine\n");
    }

    @Test
    void commandsThatHangDoNotUseUpTheConnection() throws Exception {
        for (var i = 0; i < 12; i++) { // more than sshd allows at once on one connection
            fleet.pass(Duration.ofMinutes(1));
            var answer = fleet.breakOff(
                    connection,
                    timeout -> Fleet.request("echo half; sleep 600", timeout),
                    each -> !each.output().isEmpty());
            assertThat(answer.broken()).extracting(Answer.Broken::code).isEqualTo(ProblemCode.TIMEOUT);
            assertThat(answer.output()).isEqualTo("half\n");
        }
        fleet.pass(Duration.ofMinutes(1));
        assertThat(connection.run(Fleet.request("echo fine")).output()).isEqualTo("fine\n");
    }

    @Test
    void aLoginThatHangsIsBrokenOff() throws Exception {
        host.shell("case $2 in 'echo hang') exec sleep 600 ;; esac");

        assertThat(fleet.breakOff(connection, timeout -> Fleet.request("echo hang", timeout), _ -> true)
                        .broken())
                .extracting(Answer.Broken::code)
                .isEqualTo(ProblemCode.TIMEOUT);
        host.shell("");
        fleet.pass(Duration.ofMinutes(1));
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void aConnectionThatIsCutInTheMiddleIsTold() throws Exception {
        var task = new FutureTask<>(() -> connection.run(Fleet.request("echo begun; sleep 600")));
        Thread.startVirtualThread(task);
        await().until(() -> !host.connections().isEmpty());

        await().until(() -> host.processes().stream()
                .anyMatch(each -> each.info().command().orElse("").endsWith("/sleep")));
        host.cut();

        assertThat(task.get().broken()).extracting(Answer.Broken::code).isEqualTo(ProblemCode.CONNECTION_LOST);
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void aServerThatIsStartedAnewIsReachedAtOnce() throws Exception {
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
        host.stop();
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE);
        host.start();
        fleet.pass(Duration.ofSeconds(1));
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();

        host.stop();
        host.start();
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void aMachineThatFreezesKeepsNobodyWaiting() throws Exception {
        var impatient = fleet.connect(access("root", Duration.ofSeconds(3)), host.target());
        await().until(() -> isReached(impatient));
        host.freeze();

        assertRefused(impatient, ProblemCode.TIMEOUT, Duration.ofMillis(500)).contains("opens no channel");
        fleet.pass(Duration.ofMinutes(1));
        assertRefused(impatient, ProblemCode.CONNECT_TIMEOUT);

        host.thaw();
        await().until(() -> isReached(impatient));
    }

    @Test
    void itsKeysAreCompared() throws Exception {
        host.newHostKey();
        host.stop();
        host.start();
        assertRefused(connection, ProblemCode.HOST_KEY_CHANGED).contains("ssh-ed25519 SHA256:");

        fleet.pass(Duration.ofMinutes(1));
        hosts.know("");
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN);

        fleet.pass(Duration.ofMinutes(1));
        hosts.know();
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void aKeyThatItRefusesIsTold() throws Exception {
        host.refuseKey();
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED).isEqualTo("it refuses the key of root");

        host.acceptKey();
        fleet.pass(Duration.ofMinutes(1));
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void oneMachineIsReachedByWayOfAnother() throws Exception {
        var bastion = hosts.start("bastion");
        var config = "Host gpu\nHostName %s\nPort %d\nProxyJump root@%s\n"
                .formatted(host.address(), host.port(), bastion.target());
        var file = Files.writeString(directory.resolve("config"), config);
        var access = fleet.access(new SshSettings("root", hosts.identity(), null, file, hosts.knownHosts(), HANG));

        var far = fleet.connect(access, "gpu");

        assertThat(far.run(new Request("uname -n; wc -c", "x".repeat(500_000), Fleet.PATIENCE, 100))
                        .output())
                .isEqualTo("gpu-1\n500000\n");
        assertThat(bastion.log()).contains("Accepted publickey for root");
        bastion.cut();
        assertThat(far.run(Fleet.request("true")).exitCode()).isZero();
    }

    /** It may be too slow for the timeout once in a while. */
    private boolean isReached(KeptExchange impatient) throws InterruptedException {
        fleet.pass(Duration.ofMinutes(1));
        try {
            return impatient.run(Fleet.request("true")).exitCode() != null;
        } catch (UnreachableException e) {
            return false;
        }
    }

    private SshAccess access(String user) {
        return access(user, HANG);
    }

    private SshAccess access(String user, Duration timeout) {
        return fleet.access(new SshSettings(user, hosts.identity(), null, null, hosts.knownHosts(), timeout));
    }
}
