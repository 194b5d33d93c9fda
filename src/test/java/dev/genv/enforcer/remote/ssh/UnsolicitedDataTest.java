package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.apache.sshd.common.SshConstants;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.util.buffer.Buffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Data that a server sends while no command runs. */
class UnsolicitedDataTest extends ServerTest {
    @BeforeEach
    void connect() throws Exception {
        assertReached(connection);
    }

    @Test
    void forwardedChannelEndsTheConnection() throws Exception {
        sendIgnoringDisconnect(session -> channelOpenMessage(session, "forwarded-tcpip"));

        await().until(() -> server.activeConnections() == 0);
        assertReached(connection);
        assertThat(server.connections()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void endlessMessagesOrKeyExchangesEndTheConnectionAndDelayTheNextAttempt(boolean keyExchanges) throws Exception {
        sendUntilDisconnected(keyExchanges ? server::rekey : () -> server.send(UnsolicitedDataTest::ignoreMessage));

        assertRefused(connection, ProblemCode.SSH_FAILED)
                .isEqualTo("the host sent too much data that the service did not request");
        assertRefused(connection, ProblemCode.SSH_FAILED).endsWith("; next try in 1 s");
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void endlessMessagesDuringARequestEndTheConnection() throws Exception {
        server.addProgram("hang", ServerTest::hang);
        var task = new FutureTask<>(() -> connection.request(request("hang", "", HANG, 1_000)));
        Thread.startVirtualThread(task);
        await().until(() -> server.commands() == 2);

        sendUntilDisconnected(() -> server.send(UnsolicitedDataTest::ignoreMessage));

        assertThat(task.get().interruption())
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.CONNECTION_LOST);
        assertRefused(connection, ProblemCode.SSH_FAILED)
                .isEqualTo("the host sent too much data that the service did not request");
    }

    /**
     * The reading thread would wait for new keys that only it can negotiate. This thread closes the connection when it gives up, so the server sees the end.
     */
    @Test
    void closesTheConnectionWhenAKeyExchangeNeverEnds() throws Exception {
        connection.close();
        await().until(() -> server.activeConnections() == 0);
        var shortTimeoutConnection = connect(access(Duration.ofSeconds(1), server.knownHostsLine()), server.target());
        await().until(() -> isReached(shortTimeoutConnection));

        sendIgnoringDisconnect(session -> {
            session.writePacket(keyExchangeOffer(session));
            return keepAliveRequest(session);
        });

        await().until(() -> server.activeConnections() == 0);
        await().until(() -> isReached(shortTimeoutConnection));
    }

    /** The connection can end before the server has sent everything. */
    private void sendIgnoringDisconnect(FakeSshd.Message message) {
        try {
            server.send(message);
        } catch (IOException e) {
            assertThat(e.getMessage()).containsAnyOf("WriteAborted", "Session closed");
        }
    }

    private static Buffer keyExchangeOffer(Session session) {
        var buffer = session.createBuffer(SshConstants.SSH_MSG_KEXINIT);
        buffer.putRawBytes(new byte[16]);
        for (var list : List.of(
                "curve25519-sha256",
                "ecdsa-sha2-nistp256",
                "aes128-ctr",
                "aes128-ctr",
                "hmac-sha2-256",
                "hmac-sha2-256",
                "none",
                "none",
                "",
                "")) {
            buffer.putString(list);
        }
        buffer.putBoolean(false);
        buffer.putUInt(0);
        return buffer;
    }

    private static Buffer keepAliveRequest(Session session) {
        var buffer = session.createBuffer(SshConstants.SSH_MSG_GLOBAL_REQUEST);
        buffer.putString("keepalive@openssh.com");
        buffer.putBoolean(true);
        return buffer;
    }

    @Test
    void outputOfACommandDoesNotCountAsUnsolicited() throws Exception {
        var much = "x".repeat(5 << 20);
        server.addProgram("slowly", (_, out, _) -> {
            for (var i = 0; i < 3_000; i++) {
                out.write('y');
                out.flush();
            }
            return 0;
        });

        assertThat(connection.request(request("echo", much, HANG, 8 << 20)).output())
                .isEqualTo(much);
        assertThat(connection.request(request("slowly")).output()).isEqualTo("y".repeat(3_000));
        assertThat(server.connections()).isEqualTo(1);
    }

    private interface Sender {
        void send() throws IOException;
    }

    private void sendUntilDisconnected(Sender talk) {
        await().pollInterval(Duration.ofMillis(1)).until(() -> {
            try {
                talk.send();
            } catch (IOException _) {
                // the client closed the connection
            }
            return server.activeConnections() == 0;
        });
    }

    private static Buffer ignoreMessage(Session session) {
        var buffer = session.createBuffer(SshConstants.SSH_MSG_IGNORE, Transport.ALLOWANCE);
        buffer.putBytes(new byte[Transport.ALLOWANCE / 8]);
        return buffer;
    }

    private static Buffer channelOpenMessage(Session session, String kind) {
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
}
