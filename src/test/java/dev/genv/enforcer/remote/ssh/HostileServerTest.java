package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.remote.ssh.Transport.Lookups.Names;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A server must not block the service, whatever it sends: each of these tests would hang. */
class HostileServerTest extends ServerTest {
    private static final Duration TIMEOUT = Duration.ofMillis(700);

    private ServerSocket hostile;

    interface ServerBehavior {
        void handle(Socket client) throws Exception;
    }

    @BeforeEach
    void listen() throws IOException {
        hostile = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.5"));
        Files.delete(directory.resolve("known_hosts"));
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
        writeKnownHosts("");
        var connection = connect(access(Duration.ofMinutes(10)), "127.0.0.5:" + hostile.getLocalPort());
        var task = new FutureTask<>(() -> connection.request(request("true")));
        var thread = Thread.ofPlatform().start(task);
        begun.await();

        thread.interrupt();

        assertThat(thread.join(HANG)).isTrue();
        await().until(() -> hungUp.getCount() == 0);
        assertThat(task.exceptionNow()).isInstanceOf(InterruptedException.class);
    }

    private SshAccess access(Names names, Duration timeout) throws IOException {
        if (!Files.exists(directory.resolve("known_hosts"))) {
            writeKnownHosts("");
        }
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
}
