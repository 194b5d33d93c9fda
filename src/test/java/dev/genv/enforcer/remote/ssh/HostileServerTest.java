package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.remote.ssh.Transport.Lookups.Names;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.apache.sshd.common.SshConstants;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.util.buffer.Buffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server must not block the service, whatever it sends before the login, and while no command runs. */
class HostileServerTest extends ServerTest {
    private static final Duration TIMEOUT = Duration.ofMillis(700);

    private ServerSocket hostile;

    interface ServerBehavior {
        void handle(Socket client) throws Exception;
    }

    @BeforeEach
    void listen() throws IOException {
        hostile = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.5"));
    }

    @AfterEach
    void close() throws Exception {
        hostile.close();
    }

    @Test
    void reportsUnknownHostName() throws Exception {
        var access = access(
                name -> {
                    throw new UnknownHostException(name);
                },
                HANG);

        assertRefused(connect(access, "gpu-1"), ProblemCode.DNS_FAILED).isEqualTo("there is no address for gpu-1");
    }

    @Test
    void triesEveryAddressOfAName() throws Exception {
        var sshd = server("127.0.0.2");
        Names names = _ -> new InetAddress[] {InetAddress.ofLiteral("127.0.0.250"), InetAddress.ofLiteral("127.0.0.2")};
        writeKnownHosts("[gpu-1]:%d %s\n".formatted(sshd.port(), sshd.hostKey()));

        var connection = connect(access(names, HANG), "gpu-1:" + sshd.port());

        assertThat(connection.request(request("true")).exitCode()).isZero();
    }

    static Stream<Arguments> servers() {
        return Stream.of(
                // The limit of a read and that of the whole connection are equal, so either may come first.
                server(ProblemCode.CONNECT_TIMEOUT, "", TIMEOUT, client -> {
                    client.getInputStream().readAllBytes();
                }),
                server(ProblemCode.CONNECT_TIMEOUT, "", TIMEOUT, client -> {
                    while (true) {
                        client.getOutputStream().write('S');
                        Thread.sleep(20);
                    }
                }),
                server(
                        ProblemCode.CONNECTION_LOST,
                        "lost before the login: the host sent too much data that the service did not request",
                        HANG,
                        client -> writeForever(client.getOutputStream(), "Welcome to this host\r\n")),
                server(
                        ProblemCode.SSH_FAILED,
                        "invalid server's version string",
                        HANG,
                        client -> writeForever(client.getOutputStream(), "\u0001\u0002\u0003")),
                server(ProblemCode.SSH_FAILED, "", HANG, client -> {
                    client.getOutputStream().write("SSH-2.0-x\r\n".getBytes(StandardCharsets.US_ASCII));
                    writeForever(client.getOutputStream(), "\u0000\u0000\u0000\u00ffgarbage");
                }),
                server(ProblemCode.CONNECTION_LOST, "", HANG, Socket::close),
                server(ProblemCode.CONNECTION_LOST, "", HANG, client -> {
                    client.getOutputStream().write("Not allowed at this time\r\n".getBytes(StandardCharsets.US_ASCII));
                    client.close();
                }));
    }

    private static Arguments server(ProblemCode code, String text, Duration timeout, ServerBehavior behavior) {
        return Arguments.of(code, text, timeout, behavior);
    }

    @ParameterizedTest
    @MethodSource("servers")
    void reportsWhatTheServerDoesAndKeepsNoneOfItsData(
            ProblemCode code, String text, Duration timeout, ServerBehavior behavior) throws Exception {
        serve(behavior);
        var connection = connect(access(InetAddress::getAllByName, timeout), "127.0.0.5:" + hostile.getLocalPort());
        assertThatThrownBy(() -> connection.request(request("true")))
                .hasNoCause()
                .hasMessageContaining(text)
                .isInstanceOfSatisfying(
                        UnreachableException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    @Test
    void interruptClosesTheConnection() throws Exception {
        var hungUp = new CountDownLatch(1);
        var begun = new CountDownLatch(1);
        serve(client -> {
            begun.countDown();
            client.getInputStream().readAllBytes();
            hungUp.countDown();
        });
        var connection = connect(access(Duration.ofMinutes(10)), "127.0.0.5:" + hostile.getLocalPort());
        var task = new FutureTask<>(() -> connection.request(request("true")));
        var thread = Thread.ofPlatform().start(task);
        begun.await();

        thread.interrupt();

        assertThat(thread.join(HANG)).isTrue();
        await().until(() -> hungUp.getCount() == 0);
        assertThat(task.exceptionNow()).isInstanceOf(InterruptedException.class);
    }

    private SshAccess access(Names names, Duration timeout) {
        return access(
                new SshSettings("root", key.file(), null, null, null, directory.resolve("known_hosts"), timeout),
                names);
    }

    private void serve(ServerBehavior talk) {
        Thread.startVirtualThread(() -> {
            try (var client = hostile.accept()) {
                talk.handle(client);
            } catch (Exception _) {
                // the client closed the connection, or the test is over
            }
        });
    }

    private static void writeForever(OutputStream stream, String text) throws IOException {
        while (true) {
            stream.write(text.getBytes(StandardCharsets.ISO_8859_1));
        }
    }

    @Test
    void forwardedChannelEndsTheConnection() throws Exception {
        assertReached(connection);
        sendIgnoringDisconnect(session -> channelOpenMessage(session, "forwarded-tcpip"));

        await().until(() -> server.activeConnections() == 0);
        assertReached(connection);
        assertThat(server.connections()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void endlessMessagesOrKeyExchangesEndTheConnectionAndDelayTheNextAttempt(boolean keyExchanges) throws Exception {
        assertReached(connection);
        sendUntilDisconnected(keyExchanges ? server::rekey : () -> server.send(HostileServerTest::ignoreMessage));

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
        await().until(() -> server.commands() == 1);

        sendUntilDisconnected(() -> server.send(HostileServerTest::ignoreMessage));

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
