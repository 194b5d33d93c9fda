package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.apache.sshd.common.SshConstants;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.util.buffer.Buffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a host may do of its own accord, while nobody asks it for anything. */
class UninvitedTest extends OnAServer {
    @BeforeEach
    void connect() throws Exception {
        assertReached();
    }

    @Test
    void aChannelThatItOpensEndsTheConnection() throws Exception {
        sayAndMindNoEnd(session -> open(session, "forwarded-tcpip"));

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

    @Test
    void talkingWithoutEndEndsTheConnectionAndTheHostIsLeftAloneForAWhile() throws Exception {
        sayUntilItEnds(() -> server.say(UninvitedTest::ignored));

        assertRefused(connection, ProblemCode.SSH_FAILED).isEqualTo("it says too much that nobody asked for");
        assertRefused(connection, ProblemCode.SSH_FAILED).endsWith("; next try in 1 s");
        fleet.pass(Duration.ofSeconds(1));
        assertReached();
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void newKeysWithoutEndEndTheConnection() {
        sayUntilItEnds(server::rekey);

        assertRefused(connection, ProblemCode.SSH_FAILED).isEqualTo("it says too much that nobody asked for");
    }

    /**
     * The thread that reads would wait for the keys that it alone could make. It is that thread that closes the connection
     * when it has given up, so the server sees its end.
     */
    @Test
    void closesTheConnectionIfANewKeyExchangeNeverEnds() throws Exception {
        connection.close();
        await().until(() -> server.connected() == 0);
        var hasty = fleet.connect(fleet.access(Duration.ofSeconds(1), server.known()), server.target());
        await().until(() -> isReached(hasty));

        sayAndMindNoEnd(session -> {
            session.writePacket(offerOfNewKeys(session));
            return somethingToAnswer(session);
        });

        await().until(() -> server.connected() == 0);
        await().until(() -> isReached(hasty));
    }

    /** A second may be too short for the login. */
    private boolean isReached(KeptExchange hasty) throws InterruptedException {
        fleet.pass(Duration.ofMinutes(1));
        try {
            return hasty.run(Fleet.request("true")).exitCode() != null;
        } catch (UnreachableException e) {
            return false;
        }
    }

    /** The connection may end before the server knows that it has said it. */
    private void sayAndMindNoEnd(FakeSshd.Message message) {
        try {
            server.say(message);
        } catch (IOException e) {
            assertThat(e.getMessage()).containsAnyOf("WriteAborted", "Session closed");
        }
    }

    private static Buffer offerOfNewKeys(Session session) {
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

    private static Buffer somethingToAnswer(Session session) {
        var buffer = session.createBuffer(SshConstants.SSH_MSG_GLOBAL_REQUEST);
        buffer.putString("keepalive@openssh.com");
        buffer.putBoolean(true);
        return buffer;
    }

    @Test
    void eachCommandGivesTheMeasureAnew() throws Exception {
        for (var i = 0; i < 20; i++) {
            server.say(UninvitedTest::ignored);
            assertReached();
        }
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void whatACommandSaysIsNoTalk() throws Exception {
        var much = "x".repeat(5 << 20);
        server.program("slowly", (_, out, _) -> {
            for (var i = 0; i < 3_000; i++) {
                out.write('y');
                out.flush();
            }
            return 0;
        });

        assertThat(connection
                        .run(new Request("cat", much, Fleet.PATIENCE, 8 << 20))
                        .output())
                .isEqualTo(much);
        assertThat(connection.run(Fleet.request("slowly")).output()).isEqualTo("y".repeat(3_000));
        assertThat(server.connections()).isEqualTo(1);
    }

    private interface Talk {
        void once() throws IOException;
    }

    private void sayUntilItEnds(Talk talk) {
        await().pollInterval(Duration.ofMillis(1)).until(() -> {
            try {
                talk.once();
            } catch (IOException _) {
                // nobody listens any longer
            }
            return server.connected() == 0;
        });
    }

    private static Buffer ignored(Session session) {
        var buffer = session.createBuffer(SshConstants.SSH_MSG_IGNORE, Chatter.MEASURE);
        buffer.putBytes(new byte[Chatter.MEASURE / 8]);
        return buffer;
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
