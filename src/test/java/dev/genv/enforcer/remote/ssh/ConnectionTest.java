package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.testsupport.Relay;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.Test;

/** How a connection is kept, lost and made anew. */
class ConnectionTest extends OnAServer {
    @Test
    void nobodyIsConnectedToBeforeThereIsACommand() {
        assertThat(server.connections()).isZero();
    }

    @Test
    void oneConnectionServesManyCommands() throws Exception {
        for (var i = 0; i < 50; i++) {
            var text = "x".repeat(i * 3_000);
            var answer = connection.run(new Request("cat", text, Fleet.PATIENCE, 1 << 20));

            assertThat(answer).isEqualTo(new Answer(text, "", 0, null));
        }
        assertThat(server.connections()).isEqualTo(1);
        assertThat(server.connected()).isEqualTo(1);
    }

    @Test
    void itIsMadeAnewAtOnceWhereTheServerWasStartedAnew() throws Exception {
        connection.run(Fleet.request("true"));
        server.stop();
        server.start();

        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void itIsMadeAnewAtOnceWhereItWasCut() throws Exception {
        for (var i = 1; i <= 5; i++) {
            assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
            assertThat(server.connections()).isEqualTo(i);
            server.cut();
        }
    }

    /** As when a machine loses its power, or a firewall forgets the connection: nobody ever tells. */
    @Test
    void itIsMadeAnewWhereNothingComesThroughAnyLonger() throws Exception {
        try (var relay = new Relay("127.0.0.2", server.address(), server.port())) {
            var target = "127.0.0.2:" + relay.port();
            var relayed = fleet.connect(
                    fleet.access("[127.0.0.2]:%d %s\n".formatted(relay.port(), server.hostKey())), target);
            assertThat(relayed.run(Fleet.request("true")).exitCode()).isZero();
            relay.loseConnections();

            assertRefused(relayed, ProblemCode.TIMEOUT, Duration.ofSeconds(1));
            fleet.pass(Duration.ofSeconds(1));

            assertThat(relayed.run(Fleet.request("true")).exitCode()).isZero();
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void aHostThatIsDownIsLeftAloneLongerEachTime() throws Exception {
        server.stop();
        for (var pause : new int[] {500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000}) {
            assertUnreachable(ProblemCode.HOST_UNREACHABLE).doesNotContain("next try");
            fleet.pass(Duration.ofMillis(pause - 1));
            assertUnreachable(ProblemCode.HOST_UNREACHABLE).contains("refused").endsWith("; next try in 1 s");
            fleet.pass(Duration.ofMillis(1));
        }
        server.start();
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();

        server.stop();
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).doesNotContain("next try");
        fleet.pass(Duration.ofMillis(500));
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).as("from the start").doesNotContain("next try");
    }

    @Test
    void itSaysForHowLongAHostIsLeftAlone() throws Exception {
        server.stop();
        for (var i = 0; i < 10; i++) {
            assertUnreachable(ProblemCode.HOST_UNREACHABLE);
            fleet.pass(Duration.ofSeconds(30));
        }
        assertUnreachable(ProblemCode.HOST_UNREACHABLE);
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).endsWith("; next try in 30 s");
        fleet.pass(Duration.ofSeconds(20));
        assertUnreachable(ProblemCode.HOST_UNREACHABLE).endsWith("; next try in 10 s");
    }

    @Test
    void aHostThatLetsCommandsHangIsLeftAloneToo() throws Exception {
        server.program("hang", ConnectionTest::hang);

        assertThat(fleet.breakOff(connection, timeout -> Fleet.request("hang", timeout), _ -> true)
                        .broken())
                .extracting(Answer.Broken::code)
                .isEqualTo(ProblemCode.TIMEOUT);
        assertUnreachable(ProblemCode.TIMEOUT)
                .contains("it did not end within ")
                .endsWith("0 ms; next try in 1 s");

        fleet.pass(Duration.ofMillis(500));
        var before = server.connections();
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
        assertThat(server.connections())
                .as("it may be the connection that is dead")
                .isEqualTo(before + 1);
    }

    @Test
    void aConnectionThatIsLostOnceIsNotHeldAgainstTheHost() throws Exception {
        server.program("cut", this::cut);

        assertThat(connection.run(Fleet.request("cut")).broken())
                .extracting(Answer.Broken::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertThat(connection.run(Fleet.request("cut")).broken())
                .extracting(Answer.Broken::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertUnreachable(ProblemCode.CONNECTION_LOST).contains("next try");

        fleet.pass(Duration.ofMillis(500));
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
        assertThat(connection.run(Fleet.request("cut")).broken()).isNotNull();
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void anInterruptBreaksOffACommandAndTheNextOneRuns() throws Exception {
        server.program("hang", ConnectionTest::hang);
        var task = new FutureTask<>(() -> connection.run(Fleet.request("hang")));
        var thread = Thread.ofPlatform().start(task);
        await().until(() -> server.commands() == 1);

        thread.interrupt();

        assertThat(thread.join(HANG)).isTrue();
        assertThatThrownBy(task::get)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void closingBreaksOffWhatIsUnderWayForGood() throws Exception {
        server.program("hang", ConnectionTest::hang);
        var task = new FutureTask<>(() -> connection.run(Fleet.request("hang")));
        Thread.ofVirtual().start(task);
        await().until(() -> server.commands() == 1);

        connection.close();

        assertThat(task.get().broken()).extracting(Answer.Broken::code).isEqualTo(ProblemCode.CONNECTION_LOST);
        assertUnreachable(ProblemCode.CONNECTION_LOST).contains("closed");
        await().until(() -> server.connected() == 0);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void commandsOfManyThreadsTakeTurns() throws Exception {
        var tasks = IntStream.range(0, 20)
                .mapToObj(i -> new FutureTask<>(() -> connection
                        .run(new Request("cat", "n" + i, Fleet.PATIENCE, 1 << 20))
                        .output()))
                .toList();
        tasks.forEach(Thread::startVirtualThread);

        for (var i = 0; i < 20; i++) {
            assertThat(tasks.get(i).get()).isEqualTo("n" + i);
        }
        assertThat(server.connections()).isEqualTo(1);
    }

    private AbstractStringAssert<?> assertUnreachable(ProblemCode code) {
        var thrown = catchThrowableOfType(UnreachableException.class, () -> connection.run(Fleet.request("true")));
        assertThat(thrown).isNotNull();
        assertThat(thrown.code()).as(thrown.getMessage()).isEqualTo(code);
        return assertThat(thrown.getMessage());
    }

    private int cut(Object in, Object out, Object errors) {
        server.cut();
        return 0;
    }

    private static int hang(Object in, Object out, Object errors) throws InterruptedException {
        Thread.sleep(Duration.ofMinutes(10));
        return 0;
    }
}
