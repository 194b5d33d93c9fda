package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.Connection.CommandResult;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RekeyTest {
    @TempDir
    Path directory;

    @Test
    void connectionSurvivesKeyReExchange() throws Exception {
        try (var fleet = new TestFleet(directory)) {
            var server = fleet.server("127.0.0.2");
            var connection = fleet.connect(fleet.access(server.knownHostsLine()), server.target());
            var text = "x".repeat(900_000);
            for (var i = 0; i < 10; i++) {
                server.rekey();
                var answer = connection.run(new CommandRequest("echo", text, TestFleet.LONG_TIMEOUT, 1 << 20));
                assertThat(answer).isEqualTo(new CommandResult(text, "", 0, null));
            }
            assertThat(server.connections()).isEqualTo(1);
        }
    }
}
