package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A program that answers one request after the other, and what it may do instead. */
class ProgramTest extends ServerTest {
    static final String TEXT = "the program\n";

    /** The requests that programs have received. */
    final List<String> received = Collections.synchronizedList(new ArrayList<>());

    volatile Behavior behavior = (_, _) -> true;

    /** What a program does with a request before it answers. */
    interface Behavior {
        /** Returns whether the program continues. */
        boolean receive(String request, OutputStream out) throws Exception;
    }

    @BeforeEach
    void addProgram() {
        for (var command : List.of("p", "other")) {
            server.addProgram(command, (in, out, _) -> {
                in.skipNBytes(TEXT.length());
                var lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
                for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                    received.add(line);
                    if (!behavior.receive(line, out)) {
                        return 3;
                    }
                    print(out, "@%1$s received\n@%1$s {%1$s}\n".formatted(line));
                }
                return 0;
            });
        }
    }

    void assertAnswered(String number) throws Exception {
        assertAnswered(numbered(number), number);
    }

    void assertAnswered(ProgramRequest request, String number) throws Exception {
        assertThat(connection.request(request))
                .isEqualTo(new CommandResult("@%1$s received\n@%1$s {%1$s}\n".formatted(number), "", null, null));
    }

    private boolean loseConnection(String request, OutputStream out) throws InterruptedException {
        server.cutConnections();
        Thread.sleep(Duration.ofMinutes(10));
        return true;
    }

    private static ProgramRequest repeatable(String number) {
        return request("p", number, true);
    }

    private static ProgramRequest numbered(String number) {
        return request("p", number, false);
    }

    private static ProgramRequest request(String program, String number, boolean isRepeatable) {
        return new ProgramRequest(program, TEXT, number + "\n", "@" + number + " ", isRepeatable, HANG, 8 << 20);
    }

    static boolean print(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
        return true;
    }

    @Test
    void oneProgramAnswersManyRequests() throws Exception {
        for (var i = 0; i < 20; i++) {
            assertAnswered("r" + i);
        }
        assertThat(received).hasSize(20);
        assertThat(server.commands()).isEqualTo(1);
    }

    @Test
    void longRequestsAndAnswersAreWhole() throws Exception {
        var text = "x".repeat(2 << 20);
        assertAnswered("short");
        assertAnswered(text);
        assertThat(received).containsExactly("short", text);
    }

    @Test
    void outputBeforeTheAnswerIsKept() throws Exception {
        assertAnswered("1");
        behavior = (_, out) -> print(out, "Welcome @1 {1}\n@ {\n@2 begun 7\n");
        assertThat(connection.request(numbered("2")).output())
                .isEqualTo("Welcome @1 {1}\n@ {\n@2 begun 7\n@2 received\n@2 {2}\n");
        assertThat(server.commands()).isEqualTo(1);
    }

    @Test
    void onlyTheFirstAnswerCounts() throws Exception {
        behavior = (line, out) -> print(out, "@%1$s {first}\n@%1$s {second}\n".formatted(line));
        for (var number : List.of("1", "2", "3")) {
            var output = connection.request(numbered(number)).output();
            assertThat(output).endsWith("@%s {first}\n".formatted(number));
        }
        assertThat(server.commands()).isEqualTo(1);
    }

    @Test
    void disconnectsAProgramThatFloodsBetweenRequests() throws Exception {
        server.addProgram("flood", (_, out, _) -> {
            print(out, "@1 received\n@1 {1}\n");
            return flood(out);
        });
        assertThat(connection.request(request("flood", "1", false)).output()).endsWith("@1 {1}\n");
        await().until(() -> server.activeConnections() == 0);
    }

    @Test
    void startsAnotherProgramInPlaceOfTheRunningOne() throws Exception {
        assertAnswered("1");
        var other = request("other", "2", false);
        assertThat(connection.request(other).output()).endsWith("@2 {2}\n");
        assertThat(server.commands()).isEqualTo(2);
        connection.stop();
        assertThat(connection.request(other).output()).endsWith("@2 {2}\n");
        assertThat(server.commands()).isEqualTo(3);
        assertThat(connection.request(request("true")).exitCode()).isZero();
        assertThat(server.connections()).isEqualTo(1);
    }

    /** What comes after an answer belongs to no request. */
    @Test
    void startsAProgramAgainThatEndedBetweenRequests() throws Exception {
        server.addProgram("once", (in, out, _) -> {
            in.skipNBytes(TEXT.length());
            var line = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)).readLine();
            print(out, "@%1$s received\n@%1$s {%1$s}\n".formatted(line));
            return 1;
        });
        for (var number : List.of("1", "2", "3")) {
            assertThat(connection.request(request("once", number, false)).output())
                    .endsWith("@%1$s {%1$s}\n".formatted(number));
        }
        assertThat(server.commands()).isEqualTo(3);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void startsAProgramOnceAgainThatEndsWithoutReceivingTheRequest() throws Exception {
        assertAnswered("1");
        behavior = (_, _) -> false;
        assertThat(connection.request(numbered("2"))).isEqualTo(new CommandResult("", "", 3, null));
        assertThat(server.commands()).isEqualTo(2);
        assertThat(connection.request(numbered("3")).exitCode()).isEqualTo(3);
        assertThat(server.commands())
                .as("the first request of a program is not repeated")
                .isEqualTo(3);
    }

    /** It may have been executed. */
    @Test
    void doesNotRepeatARequestThatWasReceived() throws Exception {
        assertAnswered("1");
        behavior = (line, out) -> {
            print(out, "@" + line + " received\n");
            return false;
        };
        assertThat(connection.request(numbered("2"))).isEqualTo(new CommandResult("@2 received\n", "", 3, null));
        assertThat(received).containsExactly("1", "2");
        behavior = (_, _) -> true;
        assertAnswered("3");
    }

    /** Whether it was received is unknown. */
    @Test
    void doesNotRepeatARequestWhoseConnectionWasLost() throws Exception {
        assertAnswered("1");
        behavior = this::loseConnection;
        assertInterrupted(connection.request(numbered("2")), ProblemCode.CONNECTION_LOST);
        behavior = (_, _) -> true;
        assertAnswered("3");
        assertThat(received).containsExactly("1", "2", "3");
    }

    @Test
    void repeatsARepeatableRequestIfTheConnectionWasLost() throws Exception {
        behavior = this::loseConnection;
        assertInterrupted(connection.request(repeatable("3")), ProblemCode.CONNECTION_LOST);
        assertThat(received)
                .as("the first request of a program is not repeated")
                .containsExactly("3");
        advanceTime(Duration.ofMinutes(1));
        behavior = (_, _) -> true;
        assertAnswered("4");
        behavior = (request, out) -> {
            behavior = (_, _) -> true;
            return loseConnection(request, out);
        };
        assertAnswered(repeatable("5"), "5");
        assertThat(received).containsExactly("3", "4", "5", "5");
    }

    @Test
    void endedProgramHasOutputErrorsAndExitCode() throws Exception {
        server.addProgram("p", (_, out, errors) -> {
            print(out, "said");
            print(errors, "complained");
            return 3;
        });
        assertThat(connection.request(request("p"))).isEqualTo(new CommandResult("said", "complained", 3, null));
    }

    @Test
    void abortsProgramThatDoesNotReadItsInput() throws Exception {
        server.addProgram("hang", ServerTest::hang);
        var answer =
                runUntilAborted(connection, timeout -> request("hang", "x".repeat(8 << 20), timeout, 100), _ -> true);
        assertInterrupted(answer, ProblemCode.TIMEOUT);
        assertMachineStillAnswers();
    }

    @Test
    void abortsProgramThatPrintsWithoutAnsweringAndKeepsItsOutput() throws Exception {
        server.addProgram("p", (_, out, _) -> {
            while (true) {
                print(out, "d");
                Thread.sleep(50);
            }
        });
        var answer = runUntilAborted(
                connection,
                timeout -> request("p", timeout),
                each -> each.output().length() > 1);
        assertInterrupted(answer, ProblemCode.TIMEOUT);
        assertThat(answer.output()).matches("d{2,}");
        assertRefused(connection, ProblemCode.TIMEOUT).endsWith("; next try in 1 s");
        var before = server.connections();
        assertMachineStillAnswers();
        assertThat(server.connections())
                .as("it may be the connection that is dead")
                .isEqualTo(before + 1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void abortsProgramWithEndlessOutputOrErrors(boolean onErrors) throws Exception {
        server.addProgram("p", (_, out, errors) -> flood(onErrors ? errors : out));
        var answer = connection.request(request("p", "", HANG, 100_000));
        assertInterrupted(answer, ProblemCode.ANSWER_TOO_LONG);
        assertThat(answer.output() + answer.errors()).isEqualTo("y".repeat(onErrors ? 4096 : 100_000));
        assertMachineStillAnswers();
    }

    private void assertMachineStillAnswers() throws Exception {
        advanceTime(Duration.ofMinutes(1));
        assertReached(connection);
    }

    private static int flood(OutputStream stream) throws IOException {
        while (true) {
            print(stream, "y".repeat(10_000));
        }
    }
}
