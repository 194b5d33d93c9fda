package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The results of commands, whatever the server does. */
class CommandTest extends ServerTest {
    @Test
    void returnsOutputErrorsAndExitCode() throws Exception {
        server.addProgram("p", (_, out, errors) -> {
            out.write("said".getBytes(StandardCharsets.UTF_8));
            errors.write("complained".getBytes(StandardCharsets.UTF_8));
            return 3;
        });

        assertThat(connection.request(TestFleet.request("p")))
                .isEqualTo(new CommandResult("said", "complained", 3, null));
    }

    @Test
    void decodesEachOutputByteAsOneCharacter() throws Exception {
        var all = new byte[256];
        for (var i = 0; i < 256; i++) {
            all[i] = (byte) i;
        }
        server.addProgram("p", (_, out, _) -> {
            out.write(all);
            return 0;
        });

        assertThat(connection.request(TestFleet.request("p")).output().getBytes(StandardCharsets.ISO_8859_1))
                .isEqualTo(all);
    }

    @Test
    void sendsInputInUtf8() throws Exception {
        var answer = connection.request(TestFleet.request("echo", "größe", TestFleet.LONG_TIMEOUT, 100));

        assertThat(answer.output().getBytes(StandardCharsets.ISO_8859_1))
                .isEqualTo("größe".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void runsLongCommandWithSpecialCharacters() throws Exception {
        var command = "sh -c '" + "ü\n\"$".repeat(20_000) + "'";
        server.addProgram(command, (_, _, _) -> 7);

        assertThat(connection.request(TestFleet.request(command)).exitCode()).isEqualTo(7);
    }

    @Test
    void abortsCommandThatDoesNotReadItsInput() throws Exception {
        server.addProgram("hang", CommandTest::hang);

        var answer = fleet.runUntilAborted(
                connection, timeout -> TestFleet.request("hang", "x".repeat(8 << 20), timeout, 100), _ -> true);

        assertInterrupted(answer, ProblemCode.TIMEOUT);
        assertMachineStillAnswers();
    }

    @Test
    void abortsHangingCommandAndKeepsItsOutput() throws Exception {
        server.addProgram("p", (in, out, errors) -> {
            out.write("half".getBytes(StandardCharsets.UTF_8));
            out.flush();
            return hang(in, out, errors);
        });

        var answer = fleet.runUntilAborted(
                connection,
                timeout -> TestFleet.request("p", timeout),
                each -> !each.output().isEmpty());

        assertInterrupted(answer, ProblemCode.TIMEOUT);
        assertThat(answer.output()).isEqualTo("half");
        var before = server.connections();
        assertMachineStillAnswers();
        assertThat(server.connections())
                .as("it may be the connection that is dead")
                .isEqualTo(before + 1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void abortsCommandWithEndlessOutputOrErrors(boolean onErrors) throws Exception {
        server.addProgram("p", (_, out, errors) -> flood(onErrors ? errors : out));

        var answer = connection.request(TestFleet.request("p", "", TestFleet.LONG_TIMEOUT, 100_000));

        assertInterrupted(answer, ProblemCode.ANSWER_TOO_LONG);
        assertThat(answer.output() + answer.errors()).isEqualTo("y".repeat(onErrors ? 4096 : 100_000));
        assertMachineStillAnswers();
    }

    @Test
    void acceptsOutputOfExactlyTheMaximumLength() throws Exception {
        var request = TestFleet.request("echo", "x".repeat(100_000), TestFleet.LONG_TIMEOUT, 100_000);

        assertThat(connection.request(request)).isEqualTo(new CommandResult("x".repeat(100_000), "", 0, null));
    }

    @Test
    void keepsOnlyTheBeginningOfLongErrors() throws Exception {
        server.addProgram("p", (_, out, errors) -> {
            errors.write("z".repeat(50_000).getBytes(StandardCharsets.UTF_8));
            out.write('k');
            return 1;
        });

        assertThat(connection.request(TestFleet.request("p")))
                .isEqualTo(new CommandResult("k", "z".repeat(4096), 1, null));
    }

    @Test
    void slowOutputDoesNotExtendTheTimeout() throws Exception {
        server.addProgram("p", (_, out, _) -> {
            while (true) {
                out.write('d');
                out.flush();
                Thread.sleep(50);
            }
        });

        var answer = fleet.runUntilAborted(
                connection,
                timeout -> TestFleet.request("p", timeout),
                each -> each.output().length() > 1);

        assertInterrupted(answer, ProblemCode.TIMEOUT);
        assertThat(answer.output()).matches("d{2,}");
        assertMachineStillAnswers();
    }

    private void assertMachineStillAnswers() throws Exception {
        fleet.advanceTime(Duration.ofMinutes(1));
        assertThat(connection.request(TestFleet.request("true"))).isEqualTo(new CommandResult("", "", 0, null));
    }

    private static void assertInterrupted(CommandResult answer, ProblemCode code) {
        assertThat(answer.interruption()).isNotNull();
        assertThat(answer.interruption().code()).as(answer.toString()).isEqualTo(code);
        assertThat(answer.interruption().detail()).isNotBlank();
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
