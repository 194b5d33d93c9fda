package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Request;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RekeyTest {
    @TempDir
    Path directory;

    @Test
    void keysAreMadeAnewInTheMiddleOfThings() throws Exception {
        try (var fleet = new Fleet(directory)) {
            var server = fleet.server("127.0.0.2");
            var connection = fleet.connect(fleet.access(server.known()), server.target());
            var text = "x".repeat(900_000);
            for (var i = 0; i < 10; i++) {
                server.rekey();
                var answer = connection.run(new Request("cat", text, Fleet.PATIENCE, 1 << 20));
                assertThat(answer).isEqualTo(new Answer(text, "", 0, null));
            }
            assertThat(server.connections()).isEqualTo(1);
        }
    }
}
