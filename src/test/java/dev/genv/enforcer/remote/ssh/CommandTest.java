package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Request;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What commands may come to, whatever they do. */
class CommandTest extends OnAServer {
    @Test
    void outputErrorsAndExitCodeComeBack() throws Exception {
        server.program("p", (_, out, errors) -> {
            out.write("said".getBytes(StandardCharsets.UTF_8));
            errors.write("complained".getBytes(StandardCharsets.UTF_8));
            return 3;
        });

        assertThat(connection.run(Fleet.request("p"))).isEqualTo(new Answer("said", "complained", 3, null));
    }

    @Test
    void eachByteIsAChar() throws Exception {
        var all = new byte[256];
        for (var i = 0; i < 256; i++) {
            all[i] = (byte) i;
        }
        server.program("p", (_, out, _) -> {
            out.write(all);
            return 0;
        });

        assertThat(connection.run(Fleet.request("p")).output().getBytes(StandardCharsets.ISO_8859_1))
                .isEqualTo(all);
    }

    @Test
    void inputIsGivenInUtf8AndEnds() throws Exception {
        var answer = connection.run(new Request("cat", "größe", Fleet.PATIENCE, 100));

        assertThat(answer.output().getBytes(StandardCharsets.ISO_8859_1))
                .isEqualTo("größe".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void theCommandItselfMayBeLongAndOdd() throws Exception {
        var command = "sh -c '" + "ü\n\"$".repeat(20_000) + "'";
        server.program(command, (_, _, _) -> 7);

        assertThat(connection.run(Fleet.request(command)).exitCode()).isEqualTo(7);
    }

    @Test
    void anUnknownCommandIsAnAnswer() throws Exception {
        assertThat(connection.run(Fleet.request("nobody knows it"))).isEqualTo(new Answer("", "", 127, null));
    }

    @Test
    void inputThatNobodyReadsDoesNoHarm() throws Exception {
        var much = "x".repeat(8 << 20);

        assertThat(connection
                        .run(new Request("true", much, Fleet.PATIENCE, 100))
                        .exitCode())
                .isZero();
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void aCommandThatDoesNotReadItsInputIsBrokenOff() throws Exception {
        server.program("hang", CommandTest::hang);

        var answer = fleet.breakOff(
                connection, timeout -> new Request("hang", "x".repeat(8 << 20), timeout, 100), _ -> true);

        assertBroken(answer, ProblemCode.TIMEOUT);
        assertThatTheHostGoesOn();
    }

    @Test
    void aCommandThatHangsIsBrokenOffAndWhatItSaidIsKept() throws Exception {
        server.program("p", (in, out, errors) -> {
            out.write("half".getBytes(StandardCharsets.UTF_8));
            out.flush();
            return hang(in, out, errors);
        });

        var answer = fleet.breakOff(
                connection,
                timeout -> Fleet.request("p", timeout),
                each -> !each.output().isEmpty());

        assertBroken(answer, ProblemCode.TIMEOUT);
        assertThat(answer.output()).isEqualTo("half");
        var before = server.connections();
        assertThatTheHostGoesOn();
        assertThat(server.connections())
                .as("it may be the connection that is dead")
                .isEqualTo(before + 1);
    }

    @Test
    void endlessOutputIsBrokenOff() throws Exception {
        server.program("p", (_, out, _) -> flood(out));

        var answer = connection.run(new Request("p", "", Fleet.PATIENCE, 100_000));

        assertBroken(answer, ProblemCode.ANSWER_TOO_LONG);
        assertThat(answer.output()).isEqualTo("y".repeat(100_000));
        assertThatTheHostGoesOn();
    }

    @Test
    void exactlyAsMuchOutputAsIsAllowedIsFine() throws Exception {
        var request = new Request("cat", "x".repeat(100_000), Fleet.PATIENCE, 100_000);

        assertThat(connection.run(request)).isEqualTo(new Answer("x".repeat(100_000), "", 0, null));
    }

    @Test
    void endlessErrorsAreBrokenOff() throws Exception {
        server.program("p", (_, _, errors) -> flood(errors));

        var answer = connection.run(new Request("p", "", Fleet.PATIENCE, 100_000));

        assertBroken(answer, ProblemCode.ANSWER_TOO_LONG);
        assertThat(answer.errors()).isEqualTo("y".repeat(4096));
        assertThatTheHostGoesOn();
    }

    @Test
    void onlyTheBeginningOfManyErrorsIsKept() throws Exception {
        server.program("p", (_, out, errors) -> {
            errors.write("z".repeat(50_000).getBytes(StandardCharsets.UTF_8));
            out.write('k');
            return 1;
        });

        assertThat(connection.run(Fleet.request("p"))).isEqualTo(new Answer("k", "z".repeat(4096), 1, null));
    }

    @Test
    void aByteNowAndThenDoesNotKeepItAlive() throws Exception {
        var said = new AtomicInteger();
        server.program("p", (_, out, _) -> {
            while (true) {
                out.write('d');
                out.flush();
                said.incrementAndGet();
                Thread.sleep(50);
            }
        });

        var answer = fleet.breakOff(
                connection,
                timeout -> Fleet.request("p", timeout),
                each -> each.output().length() > 1);

        assertBroken(answer, ProblemCode.TIMEOUT);
        assertThat(answer.output()).matches("d{2,}");
        assertThatTheHostGoesOn();
    }

    @Test
    void aConnectionThatIsCutInTheMiddleIsTold() throws Exception {
        server.program("p", (_, out, _) -> {
            out.write("half".getBytes(StandardCharsets.UTF_8));
            out.flush();
            Thread.sleep(200);
            server.cut();
            return 0;
        });

        assertBroken(connection.run(Fleet.request("p")), ProblemCode.CONNECTION_LOST);
        assertThatTheHostGoesOn();
    }

    private void assertThatTheHostGoesOn() throws Exception {
        fleet.pass(Duration.ofMinutes(1));
        assertThat(connection.run(Fleet.request("true"))).isEqualTo(new Answer("", "", 0, null));
    }

    private static void assertBroken(Answer answer, ProblemCode code) {
        assertThat(answer.broken()).isNotNull();
        assertThat(answer.broken().code()).as(answer.toString()).isEqualTo(code);
        assertThat(answer.broken().detail()).isNotBlank();
        assertThat(answer.exitCode()).isNull();
    }

    private static int flood(OutputStream stream) throws IOException {
        var much = "y".repeat(10_000).getBytes(StandardCharsets.UTF_8);
        while (true) {
            stream.write(much);
            stream.flush();
        }
    }

    private static int hang(Object in, Object out, Object errors) throws InterruptedException {
        Thread.sleep(Duration.ofMinutes(10));
        return 0;
    }
}
