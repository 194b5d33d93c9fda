package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.IOException;
import java.nio.file.Path;
import org.apache.sshd.common.SshConstants;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.util.buffer.Buffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a host may do of its own accord, while nobody asks it for anything. */
class UninvitedTest {
    @TempDir
    Path directory;

    private Fleet fleet;
    private FakeSshd server;
    private Connection connection;

    @BeforeEach
    void start() throws Exception {
        fleet = new Fleet(directory);
        server = fleet.server("127.0.0.2");
        connection = fleet.connect(fleet.access(server.known()), server.target());
        assertReached();
    }

    @AfterEach
    void close() throws IOException {
        fleet.close();
    }

    @Test
    void aChannelThatItOpensEndsTheConnection() throws Exception {
        server.say(session -> open(session, "forwarded-tcpip"));

        await().until(() -> server.connected() == 0);
        assertReached();
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void aChannelOfAnotherKindIsRefusedAndThatIsAll() throws Exception {
        server.say(session -> open(session, "session"));
        server.say(session -> open(session, "x11"));

        assertReached();
        assertThat(server.connections()).isEqualTo(1);
    }

    private static Buffer open(Session session, String kind) {
        var buffer = session.createBuffer(SshConstants.SSH_MSG_CHANNEL_OPEN, 100);
        buffer.putString(kind);
        buffer.putUInt(7);
        buffer.putUInt(1 << 20);
        buffer.putUInt(1 << 15);
        buffer.putString("here");
        buffer.putUInt(1);
        buffer.putString("there");
        buffer.putUInt(1);
        return buffer;
    }

    private void assertReached() throws Exception {
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }
}
