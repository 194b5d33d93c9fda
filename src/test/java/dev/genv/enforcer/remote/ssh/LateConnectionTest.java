package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.LoginFailure.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import dev.genv.enforcer.remote.ssh.SshConnection.BackOff;
import dev.genv.enforcer.remote.ssh.SshConnection.SessionFactory;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connections that are complete only after their time limit. */
class LateConnectionTest {
    @TempDir
    Path directory;

    private TestFleet fleet;
    private FakeSshd server;
    private int attempts;

    @BeforeEach
    void start() throws IOException {
        fleet = new TestFleet(directory);
        server = fleet.server("127.0.0.2");
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    @Test
    void missingPermitCausesNoDelay() {
        var connection = connection(_ -> {
            attempts++;
            throw new TimeoutException();
        });

        for (var i = 1; i <= 3; i++) {
            assertRefused(connection, ProblemCode.CONNECT_TIMEOUT)
                    .isEqualTo("attempts to connect to other hosts took all permits");
            assertThat(attempts).isEqualTo(i);
        }
    }

    @Test
    void lateConnectionIsKeptForTheNextCommand() throws Exception {
        var connector = new SshConnector(new KeyFiles(null), InetAddress::getAllByName, TestFleet.LONG_TIMEOUT);
        var hop = new Hop(
                "gpu-1",
                "root",
                server.address(),
                server.port(),
                null,
                List.of(fleet.key.file()),
                List.of(fleet.writeKnownHosts(server.knownHostsLine())));
        try (var connection = connection(_ -> connector.connect(List.of(hop), Deadline.in(TestFleet.LONG_TIMEOUT)))) {
            assertRefused(connection, ProblemCode.CONNECT_TIMEOUT)
                    .isEqualTo("the connection was ready too late for this command; the next command uses it");
            assertThat(server.commands()).isZero();

            assertThat(connection.run(TestFleet.request("true")).exitCode()).isZero();
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    /** There is no time left before the command. */
    private static CommandConnection connection(SessionFactory sessionFactory) {
        return new CommandConnection(
                new SshConnection(sessionFactory, new BackOff(System::nanoTime, new Random(1)), Duration.ZERO));
    }
}
