package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.SshConnection.BackOff;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import dev.genv.enforcer.testsupport.ssh.MlKemExchange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A connection is kept, lost and renewed. */
class SshConnectionTest extends ServerTest {

    /** The packaged program is tested in {@code RemoteIT}. */
    @Test
    void exchangesKeysThatAQuantumComputerDoesNotBreak() throws Exception {
        server.stop();
        server.keyExchange(new MlKemExchange());
        server.start();
        assertReached(connection);
    }

    @Test
    void reconnectsAtOnceAfterAServerRestart() throws Exception {
        connection.request(request("true"));
        server.stop();
        server.start();

        assertReached(connection);
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void doublesTheDelayForUnreachableMachine() throws Exception {
        server.stop();
        for (var pause : new int[] {500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
            assertRefused(connection, ProblemCode.HOST_UNREACHABLE).doesNotContain("next try");
            advanceTime(Duration.ofMillis(pause - 1));
            assertRefused(connection, ProblemCode.HOST_UNREACHABLE)
                    .contains("refused")
                    .endsWith("; next try in 1 s");
            advanceTime(Duration.ofMillis(1));
        }
        server.start();
        assertReached(connection);

        server.stop();
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).doesNotContain("next try");
        advanceTime(Duration.ofMillis(500));
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE)
                .as("the pauses begin again")
                .doesNotContain("next try");
    }

    @Test
    void oneLostConnectionCausesNoDelay() throws Exception {
        server.addProgram("cut", this::cut);

        assertThat(connection.request(request("cut")).interruption())
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertThat(connection.request(request("cut")).interruption())
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertRefused(connection, ProblemCode.CONNECTION_LOST).contains("next try");

        advanceTime(Duration.ofMillis(500));
        assertReached(connection);
        assertThat(connection.request(request("cut")).interruption()).isNotNull();
        assertReached(connection);
    }

    @Test
    void interruptAbortsOnlyTheCurrentCommand() throws Exception {
        server.addProgram("hang", ServerTest::hang);
        var task = new FutureTask<>(() -> connection.request(request("hang")));
        var thread = Thread.ofPlatform().start(task);
        await().until(() -> server.commands() == 1);

        thread.interrupt();

        assertThat(thread.join(HANG)).isTrue();
        assertThatThrownBy(task::get)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(InterruptedException.class);
        assertReached(connection);
    }

    @Test
    void closingAbortsTheCommandAndRefusesFurtherOnes() throws Exception {
        server.addProgram("hang", ServerTest::hang);
        var task = new FutureTask<>(() -> connection.request(request("hang")));
        Thread.ofVirtual().start(task);
        await().until(() -> server.commands() == 1);

        connection.close();

        assertThat(task.get().interruption())
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertRefused(connection, ProblemCode.CONNECTION_LOST).contains("closed");
        await().until(() -> server.activeConnections() == 0);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void serializesCommandsOfManyThreads() throws Exception {
        var tasks = IntStream.range(0, 20)
                .mapToObj(i -> new FutureTask<>(() -> connection
                        .request(request("echo", "n" + i, HANG, 1 << 20))
                        .output()))
                .toList();
        tasks.forEach(Thread::startVirtualThread);

        for (var i = 0; i < 20; i++) {
            assertThat(tasks.get(i).get()).isEqualTo("n" + i);
        }
        assertThat(server.connections()).isEqualTo(1);
    }

    /** The JVM lists only platform threads here, which many machines would use up. */
    @Test
    void usesNoPlatformThread() throws Exception {
        server.addProgram("hang", ServerTest::hang);
        Thread.startVirtualThread(new FutureTask<>(() -> connection.request(request("hang"))));
        await().until(() -> server.commands() == 1);
        assertThat(Thread.getAllStackTraces().values())
                .flatExtracting(List::of)
                .noneMatch(frame -> frame.getClassName().startsWith("com.jcraft."));
    }

    private int cut(Object in, Object out, Object errors) {
        server.cutConnections();
        return 0;
    }

    @Test
    void missingPermitCausesNoDelay() {
        var attempts = new int[1];
        var late = withoutTimeForACommand(_ -> {
            attempts[0]++;
            throw new TimeoutException();
        });
        for (var i = 1; i <= 3; i++) {
            assertRefused(late, ProblemCode.CONNECT_TIMEOUT)
                    .isEqualTo("attempts to connect to other hosts took all permits");
            assertThat(attempts[0]).isEqualTo(i);
        }
    }

    @Test
    void lateConnectionIsKeptForTheNextCommand() throws Exception {
        var access = access(server.knownHostsLine());
        var address = HostAddress.parse(server.target());
        try (var late = withoutTimeForACommand(_ -> access.connect(address, Deadline.in(HANG)))) {
            assertRefused(late, ProblemCode.CONNECT_TIMEOUT)
                    .isEqualTo("the connection was ready too late for this command; the next command uses it");
            assertThat(server.commands()).isZero();
            assertReached(late);
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    /** There is no time left before the command. */
    private static Connection withoutTimeForACommand(SshConnection.Login login) {
        return new SshConnection(login, new BackOff(System::nanoTime, new Random(1)), Duration.ZERO);
    }

    @Test
    void reportsRefusedKeyAndItsUser() throws Exception {
        server.refuseKeys(true);
        var connection = connect(access(server.knownHostsLine()), server.target());
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED).isEqualTo("it refuses the key of root");

        server.refuseKeys(false);
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);
    }

    @Test
    void reportsAConnectionThatIsLostInTheLogin() throws Exception {
        server.closeInLogin(true);
        var connection = connect(access(server.knownHostsLine()), server.target());
        assertRefused(connection, ProblemCode.CONNECTION_LOST).startsWith("the connection was lost before the login: ");

        server.closeInLogin(false);
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);
    }

    @Test
    void decryptsKeyWithItsPassphrase() throws Exception {
        var key = ClientKey.create(directory, "encrypted", "open sesame ");
        try (var its = new FakeSshd("127.0.0.2", key.publicKey()).addProgram("true", (_, _, _) -> 0)) {
            writeKnownHosts(its.knownHostsLine());
            var phrase = writeFile("phrase", "open sesame \n");
            var access = accessWithKey(key.file(), phrase);

            assertReached(connect(access, its.target()));
        }
    }

    @Test
    void startFailsWhenAFileCannotBeUsed() throws Exception {
        var key = ClientKey.create(directory, "encrypted", "open sesame").file();
        assertStartFails(key, null, "encrypted is encrypted, and no passphrase file");
        assertStartFails(key, writeFile("phrase", "open barley\n"), "Incorrect passphrase");
        assertStartFails(writeFile("garbage", "garbage"), null, "garbage cannot be used as a private key");
        assertStartFails(directory.resolve("nowhere"), null, "nowhere: there is no such file");
        Files.delete(directory.resolve("known_hosts"));
        assertStartFails(this.key.file(), null, "known_hosts cannot be read");
    }

    private void assertStartFails(Path identity, @Nullable Path passphrase, String why) {
        assertThatThrownBy(() -> accessWithKey(identity, passphrase))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    @Test
    void loginFailsWithoutAKey() throws Exception {
        var access = accessWithKey(null, null);

        assertRefused(connect(access, server.target()), ProblemCode.AUTHENTICATION_FAILED)
                .contains("there is no private key to log in with");
    }

    @Test
    void replacedKeyIsUsedAtTheNextLogin() throws Exception {
        var wrong = ClientKey.create(directory, "wrong", null);
        var access = accessWithKey(wrong.file(), null);
        var connection = connect(access, server.target());
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED);

        Files.write(wrong.file(), Files.readAllBytes(key.file()));
        advanceTime(Duration.ofSeconds(1));

        assertReached(connection);
    }

    // The effects of an SSH configuration, including jump hosts.

    private FakeSshd bastion() throws IOException {
        if (bastion == null) {
            bastion = server("127.0.0.3");
        }
        return bastion;
    }

    private @Nullable FakeSshd bastion;

    @Test
    void usesTheKnownHostsFileOfTheConfiguration() throws Exception {
        var own = writeFile("own_hosts", server.knownHostsLine());
        var config = "IdentityFile %s\nHost 127.0.0.2\nUserKnownHostsFile %s/missing %s"
                .formatted(key.file(), directory, own);
        var access = accessWithConfig(config, "root", bastion().knownHostsLine());

        assertReached(connect(access, server.target()));
        assertReached(connect(access, bastion().target()));
        assertRefused(
                connect(
                        accessWithConfig(config.replace("own_hosts", "others"), "root", server.knownHostsLine()),
                        server.target()),
                ProblemCode.HOST_KEY_UNKNOWN);
    }

    @Test
    void connectsThroughAJumpHost() throws Exception {
        var connection =
                connectThroughBastion(server.knownHostsLine(), bastion().knownHostsLine());

        for (var i = 0; i < 5; i++) {
            var text = "x".repeat(300_000);
            assertThat(connection.request(request("echo", text, HANG, 1 << 20)).output())
                    .isEqualTo(text);
        }
        assertThat(bastion().connections()).isEqualTo(1);
        assertThat(server.connections()).isEqualTo(1);
        assertThat(bastion().commands()).isZero();

        connection.close();
        await().untilAsserted(() -> assertThat(bastion().activeConnections() + server.activeConnections())
                .isZero());
    }

    @Test
    void connectsThroughTwoJumpHosts() throws Exception {
        var second = server("127.0.0.4");
        var access = accessWithConfig(
                config("ProxyJump %s,root@%s".formatted(bastion().target(), second.target())),
                "root",
                server.knownHostsLine() + bastion().knownHostsLine() + second.knownHostsLine());

        assertReached(connect(access, "gpu-1"));
        assertThat(second.connections()).isEqualTo(1);
        assertThat(bastion().connections()).isEqualTo(1);
    }

    @Test
    void checksTheHostKeyOfTheJumpHost() throws Exception {
        assertRefused(connectThroughBastion(server.knownHostsLine()), ProblemCode.HOST_KEY_UNKNOWN)
                .startsWith("at the jump host %s: its key (".formatted(bastion().target()));
        assertRefused(connectThroughBastion(bastion().knownHostsLine()), ProblemCode.HOST_KEY_UNKNOWN)
                .startsWith("its key (");
        assertThat(server.commands()).isZero();
        await().untilAsserted(() -> assertThat(bastion().activeConnections() + server.activeConnections())
                .isZero());
    }

    @Test
    void reconnectsWhenTheJumpHostReturnsAndLeaksNoJumpConnections() throws Exception {
        var connection =
                connectThroughBastion(server.knownHostsLine(), bastion().knownHostsLine());
        assertReached(connection);

        bastion().stop();
        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).startsWith("at the jump host ");
        bastion().start();
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);

        for (var i = 1; i <= 5; i++) {
            server.cutConnections();
            await().until(() -> server.activeConnections() == 0);
            assertReached(connection);
        }
        await().untilAsserted(() -> assertThat(bastion().activeConnections()).isEqualTo(1));
    }

    @Test
    void reportsMachineThatTheJumpHostCannotReach() throws Exception {
        var connection =
                connectThroughBastion(server.knownHostsLine(), bastion().knownHostsLine());
        server.stop();

        assertRefused(connection, ProblemCode.HOST_UNREACHABLE).contains("127.0.0.3 does not connect to it");
        await().untilAsserted(() -> assertThat(bastion().activeConnections()).isZero());
    }

    @Test
    void refusesUnsupportedConfiguration() throws Exception {
        assertRefused(
                        connect(
                                accessWithConfig(config("ProxyCommand nc %h %p"), "root", server.knownHostsLine()),
                                "gpu-1"),
                        ProblemCode.SSH_FAILED)
                .contains("ProxyCommand for gpu-1 is not supported");
    }

    private Connection connectThroughBastion(String... known) throws IOException {
        var access = accessWithConfig(config("ProxyJump " + bastion().target()), "root", String.join("", known));
        return connect(access, "gpu-1");
    }

    private String config(String more) {
        return "Host gpu-1\nHostName 127.0.0.2\nPort %d\nHost *\nIdentityFile %s\n%s\n"
                .formatted(server.port(), key.file(), more);
    }
}
