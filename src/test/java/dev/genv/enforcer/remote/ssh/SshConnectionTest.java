package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.LoginFailure.assertRefused;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.testsupport.ssh.Relay;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.Test;

/** A connection is kept, lost and renewed. */
class SshConnectionTest extends ServerTest {
    @Test
    void connectsOnlyWhenThereIsACommand() {
        assertThat(server.connections()).isZero();
    }

    @Test
    void oneConnectionServesManyCommands() throws Exception {
        for (var i = 0; i < 50; i++) {
            var text = "x".repeat(i * 3_000);
            var answer = connection.run(new CommandRequest("echo", text, TestFleet.LONG_TIMEOUT, 1 << 20));

            assertThat(answer).isEqualTo(new CommandResult(text, "", 0, null));
        }
        assertThat(server.connections()).isEqualTo(1);
        assertThat(server.activeConnections()).isEqualTo(1);
    }

    @Test
    void reconnectsAtOnceAfterAServerRestart() throws Exception {
        connection.run(TestFleet.request("true"));
        server.stop();
        server.start();

        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void reconnectsAtOnceAfterTheConnectionWasCut() throws Exception {
        for (var i = 1; i <= 5; i++) {
            assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
            assertThat(server.connections()).isEqualTo(i);
            server.cutConnections();
        }
    }

    /** A machine loses its power, or a firewall drops the connection, and neither side is notified. */
    @Test
    void reconnectsWhenTheConnectionCarriesNoDataAnyMore() throws Exception {
        try (var relay = new Relay("127.0.0.2", server.address(), server.port())) {
            var target = "127.0.0.2:" + relay.port();
            var relayed = fleet.connect(
                    fleet.access("[127.0.0.2]:%d %s\n".formatted(relay.port(), server.hostKey())), target);
            assertThat(relayed.run(TestFleet.request("true")).exitCode()).isZero();
            relay.stopForwarding();

            assertRefused(relayed, ProblemCode.TIMEOUT, Duration.ofSeconds(1));
            fleet.advanceTime(Duration.ofSeconds(1));

            assertThat(relayed.run(TestFleet.request("true")).exitCode()).isZero();
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void doublesTheDelayForUnreachableMachine() throws Exception {
        server.stop();
        for (var pause : new int[] {500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
            assertUnreachable(ProblemCode.HOST_UNREACHABLE).doesNotContain("next try");
            fleet.advanceTime(Duration.ofMillis(pause - 1));
            assertUnreachable(ProblemCode.HOST_UNREACHABLE).contains("refused").endsWith("; next try in 1 s");
            fleet.advanceTime(Duration.ofMillis(1));
        }
        server.start();
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();

        server.stop();
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).doesNotContain("next try");
        fleet.advanceTime(Duration.ofMillis(500));
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).as("from the start").doesNotContain("next try");
    }

    @Test
    void reportsTheTimeUntilTheNextAttempt() throws Exception {
        server.stop();
        for (var i = 0; i < 10; i++) {
            assertUnreachable(ProblemCode.HOST_UNREACHABLE);
            fleet.advanceTime(Duration.ofSeconds(30));
        }
        assertUnreachable(ProblemCode.HOST_UNREACHABLE);
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).endsWith("; next try in 30 s");
        fleet.advanceTime(Duration.ofSeconds(20));
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).endsWith("; next try in 10 s");
    }

    @Test
    void delaysTheNextAttemptAfterAHangingCommand() throws Exception {
        server.addProgram("hang", SshConnectionTest::hang);

        assertThat(fleet.runUntilAborted(connection, timeout -> TestFleet.request("hang", timeout), _ -> true)
                        .interruption())
                .extracting(CommandResult.Interruption::code)
                .isEqualTo(ProblemCode.TIMEOUT);
        assertUnreachable(ProblemCode.TIMEOUT)
                .contains("it did not answer within ")
                .endsWith("0 ms; next try in 1 s");

        fleet.advanceTime(Duration.ofMillis(500));
        var before = server.connections();
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
        assertThat(server.connections())
                .as("it may be the connection that is dead")
                .isEqualTo(before + 1);
    }

    @Test
    void oneLostConnectionCausesNoDelay() throws Exception {
        server.addProgram("cut", this::cut);

        assertThat(connection.run(TestFleet.request("cut")).interruption())
                .extracting(CommandResult.Interruption::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertThat(connection.run(TestFleet.request("cut")).interruption())
                .extracting(CommandResult.Interruption::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertUnreachable(ProblemCode.CONNECTION_LOST).contains("next try");

        fleet.advanceTime(Duration.ofMillis(500));
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
        assertThat(connection.run(TestFleet.request("cut")).interruption()).isNotNull();
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void interruptAbortsOnlyTheCurrentCommand() throws Exception {
        server.addProgram("hang", SshConnectionTest::hang);
        var task = new FutureTask<>(() -> connection.run(TestFleet.request("hang")));
        var thread = Thread.ofPlatform().start(task);
        await().until(() -> server.commands() == 1);

        thread.interrupt();

        assertThat(thread.join(HANG)).isTrue();
        assertThatThrownBy(task::get)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
    }

    @Test
    void closingAbortsTheCommandAndRefusesFurtherOnes() throws Exception {
        server.addProgram("hang", SshConnectionTest::hang);
        var task = new FutureTask<>(() -> connection.run(TestFleet.request("hang")));
        Thread.ofVirtual().start(task);
        await().until(() -> server.commands() == 1);

        connection.close();

        assertThat(task.get().interruption())
                .extracting(CommandResult.Interruption::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertUnreachable(ProblemCode.CONNECTION_LOST).contains("closed");
        await().until(() -> server.activeConnections() == 0);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void serializesCommandsOfManyThreads() throws Exception {
        var tasks = IntStream.range(0, 20)
                .mapToObj(i -> new FutureTask<>(() -> connection
                        .run(new CommandRequest("echo", "n" + i, TestFleet.LONG_TIMEOUT, 1 << 20))
                        .output()))
                .toList();
        tasks.forEach(Thread::startVirtualThread);

        for (var i = 0; i < 20; i++) {
            assertThat(tasks.get(i).get()).isEqualTo("n" + i);
        }
        assertThat(server.connections()).isEqualTo(1);
    }

    private AbstractStringAssert<?> assertUnreachable(ProblemCode code) {
        var thrown = catchThrowableOfType(UnreachableException.class, () -> connection.run(TestFleet.request("true")));
        assertThat(thrown).isNotNull();
        assertThat(thrown.code()).as(thrown.getMessage()).isEqualTo(code);
        return assertThat(thrown.getMessage());
    }

    private int cut(Object in, Object out, Object errors) {
        server.cutConnections();
        return 0;
    }

    private static int hang(Object in, Object out, Object errors) throws InterruptedException {
        Thread.sleep(Duration.ofMinutes(10));
        return 0;
    }
}
