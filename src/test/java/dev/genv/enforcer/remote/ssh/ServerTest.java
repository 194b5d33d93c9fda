package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Every test has its own server, and a client without a connection. */
abstract class ServerTest {
    @TempDir
    Path directory;

    TestFleet fleet;
    FakeSshd server;
    Connection connection;

    @BeforeEach
    void start() throws IOException {
        fleet = new TestFleet(directory);
        server = fleet.server("127.0.0.2");
        connection = fleet.connect(fleet.access(server.knownHostsLine()), server.target());
    }

    static void assertReached(Connection connection) throws Exception {
        assertThat(connection.request(TestFleet.request("true"))).isEqualTo(new CommandResult("", "", 0, null));
    }

    /** A program that neither reads nor answers. */
    static int hang(Object in, Object out, Object errors) throws InterruptedException {
        Thread.sleep(Duration.ofMinutes(10));
        return 0;
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }
}
