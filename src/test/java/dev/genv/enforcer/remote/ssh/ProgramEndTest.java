package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of requests when their program or their connection ends. */
@Timeout(600)
class ProgramEndTest extends ProgramServer {
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
            var once = new ProgramRequest(
                    "once", TEXT, number + "\n", "@" + number + " ", false, TestFleet.LONG_TIMEOUT, 1000);
            assertThat(connection.request(once).output()).endsWith("@%1$s {%1$s}\n".formatted(number));
        }
        assertThat(server.commands()).isEqualTo(3);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void startsAProgramOnceAgainThatEndsWithoutReceivingTheRequest() throws Exception {
        assertAnswered("1");
        behavior = (_, _) -> false;
        assertThat(connection.request(request("2"))).isEqualTo(new CommandResult("", "", 3, null));
        assertThat(server.commands()).isEqualTo(2);
        assertThat(connection.request(request("3")).exitCode()).isEqualTo(3);
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
        assertThat(connection.request(request("2"))).isEqualTo(new CommandResult("@2 received\n", "", 3, null));
        assertThat(received).containsExactly("1", "2");
        behavior = (_, _) -> true;
        assertAnswered("3");
    }

    /** Whether it was received is unknown. */
    @Test
    void doesNotRepeatARequestWhoseConnectionWasLost() throws Exception {
        assertAnswered("1");
        behavior = (_, _) -> {
            server.cutConnections();
            Thread.sleep(Duration.ofMinutes(10));
            return false;
        };
        assertInterrupted(connection.request(request("2")), ProblemCode.CONNECTION_LOST);
        behavior = (_, _) -> true;
        assertAnswered("3");
        assertThat(received).containsExactly("1", "2", "3");
    }

    @Test
    void repeatsARepeatableRequestIfTheConnectionWasLost() throws Exception {
        behavior = (_, _) -> {
            server.cutConnections();
            Thread.sleep(Duration.ofMinutes(10));
            return true;
        };
        assertInterrupted(connection.request(repeatable("3")), ProblemCode.CONNECTION_LOST);
        assertThat(received)
                .as("the first request of a program is not repeated")
                .containsExactly("3");
        fleet.advanceTime(Duration.ofMinutes(1));
        behavior = (_, _) -> true;
        assertAnswered("4");
        behavior = (_, _) -> {
            behavior = (_, _) -> true;
            server.cutConnections();
            Thread.sleep(Duration.ofMinutes(10));
            return true;
        };
        assertAnswered(repeatable("5"), "5");
        assertThat(received).containsExactly("3", "4", "5", "5");
    }

    @Test
    void startsAProgramAgainAfterTheConnectionWasCut() throws Exception {
        for (var i = 1; i <= 5; i++) {
            assertAnswered(repeatable("r" + i), "r" + i);
            assertThat(server.connections()).isEqualTo(i);
            server.cutConnections();
        }
    }

    @Test
    void startsAProgramAgainAfterATimeout() throws Exception {
        assertAnswered("1");
        behavior = (line, out) -> {
            print(out, "@" + line + " received\n");
            Thread.sleep(Duration.ofMinutes(10));
            return true;
        };
        var late = new ProgramRequest("p", TEXT, "2\n", "@2 ", true, Duration.ofSeconds(1), 8 << 20);
        assertThat(connection.request(late).interruption())
                .isEqualTo(new CommandResult.Interruption(ProblemCode.TIMEOUT, "it did not answer within 1000 ms"));
        behavior = (_, _) -> true;
        fleet.advanceTime(Duration.ofMinutes(1));
        assertAnswered("3");
        assertThat(server.commands()).isEqualTo(2);
    }
}
