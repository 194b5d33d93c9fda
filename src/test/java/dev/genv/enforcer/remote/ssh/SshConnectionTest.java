package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.SshConnection.BackOff;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A connection is kept, lost and renewed. */
class SshConnectionTest extends ServerTest {

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
}
