package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A program that answers one request after the other. */
@Timeout(600)
class ProgramTest extends ProgramServer {
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
        assertThat(connection.request(request("2")).output())
                .isEqualTo("Welcome @1 {1}\n@ {\n@2 begun 7\n@2 received\n@2 {2}\n");
        assertThat(server.commands()).isEqualTo(1);
    }

    @Test
    void onlyTheFirstAnswerCounts() throws Exception {
        behavior = (line, out) -> print(out, "@%1$s {first}\n@%1$s {second}\n".formatted(line));
        for (var number : List.of("1", "2", "3")) {
            var output = connection.request(request(number)).output();
            assertThat(output).endsWith("@%s {first}\n".formatted(number));
        }
        assertThat(server.commands()).isEqualTo(1);
    }

    @Test
    void partsOfALineAreJoined() throws Exception {
        behavior = (line, out) -> {
            for (var part : List.of("noise@" + line, " rec", "eived\n@", line + " ", "{a", "b}")) {
                print(out, part);
                Thread.sleep(20);
            }
            return print(out, "\n");
        };
        assertThat(connection.request(request("1")).output()).isEqualTo("noise@1 received\n@1 {ab}\n");
    }

    @Test
    void disconnectsAProgramThatFloodsBetweenRequests() throws Exception {
        server.addProgram("flood", (_, out, _) -> {
            print(out, "@1 received\n@1 {1}\n");
            while (true) {
                print(out, "y".repeat(10_000));
            }
        });
        var flood = new ProgramRequest("flood", TEXT, "1\n", "@1 ", false, TestFleet.LONG_TIMEOUT, 1 << 20);
        assertThat(connection.request(flood).output()).endsWith("@1 {1}\n");
        await().until(() -> server.activeConnections() == 0);
    }

    @Test
    void abortsAProgramWithEndlessOutput() throws Exception {
        assertAnswered("1");
        behavior = (_, out) -> {
            while (true) {
                print(out, "y".repeat(10_000));
            }
        };
        assertInterrupted(connection.request(request("2")), ProblemCode.ANSWER_TOO_LONG);
        behavior = (_, _) -> true;
        fleet.advanceTime(Duration.ofMinutes(1));
        assertAnswered("3");
        assertThat(received).containsExactly("1", "2", "3");
    }

    @Test
    void startsAnotherProgramInPlaceOfTheRunningOne() throws Exception {
        assertAnswered("1");
        var other = new ProgramRequest("other", TEXT, "2\n", "@2 ", false, TestFleet.LONG_TIMEOUT, 1 << 20);
        assertThat(connection.request(other).output()).endsWith("@2 {2}\n");
        assertThat(server.commands()).isEqualTo(2);
        connection.stop();
        assertThat(connection.request(other).output()).endsWith("@2 {2}\n");
        assertThat(server.commands()).isEqualTo(3);
        assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
        assertThat(server.connections()).isEqualTo(1);
    }
}
