package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Every test has a server of its own and the way to it, which nobody has gone yet. */
abstract class OnAServer {
    @TempDir
    Path directory;

    Fleet fleet;
    FakeSshd server;
    KeptExchange connection;

    @BeforeEach
    void start() throws IOException {
        fleet = new Fleet(directory);
        server = fleet.server("127.0.0.2");
        connection = fleet.connect(fleet.access(server.known()), server.target());
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }
}
