package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.ssh.Connection.Dial;
import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What comes of connections for which there was no time. */
class LateConnectionTest {
    @TempDir
    Path directory;

    private Fleet fleet;
    private FakeSshd server;
    private int tries;

    @BeforeEach
    void start() throws IOException {
        fleet = new Fleet(directory);
        server = fleet.server("127.0.0.2");
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    @Test
    void oneThatCameToNoTurnIsNotHeldAgainstTheHost() {
        var connection = connection(_ -> {
            tries++;
            throw new TimeoutException();
        });

        for (var i = 1; i <= 3; i++) {
            assertRefused(connection, ProblemCode.CONNECT_TIMEOUT)
                    .isEqualTo("too many other hosts were being connected to");
            assertThat(tries).isEqualTo(i);
        }
    }

    @Test
    void oneThatComesTooLateIsKeptForTheNextCommand() throws Exception {
        var dialer = new Dialer(new KeyFiles(null), new Lookup(), Fleet.PATIENCE);
        var hop = new Hop(
                "gpu-1",
                "root",
                server.address(),
                server.port(),
                null,
                List.of(fleet.key.file()),
                List.of(fleet.known(server.known())));
        try (var connection = connection(_ -> dialer.connect(List.of(hop), Deadline.in(Fleet.PATIENCE)))) {
            assertRefused(connection, ProblemCode.CONNECT_TIMEOUT)
                    .isEqualTo("it was connected to too late for this command, but in time for the next one");
            assertThat(server.commands()).isZero();

            assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    /** Before a command, there is no time for anything. */
    private static Connection connection(Dial dial) {
        return new Connection(dial, new BackOff(System::nanoTime, new Random(1)), Duration.ZERO);
    }
}
