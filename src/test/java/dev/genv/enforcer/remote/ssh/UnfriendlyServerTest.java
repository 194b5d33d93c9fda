package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.KeptExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who is connected to may do anything but keep somebody waiting: each of these tests would hang. */
@Timeout(600)
class UnfriendlyServerTest {
    private static final Duration TIMEOUT = Duration.ofMillis(700);

    @TempDir
    Path directory;

    private Fleet fleet;
    private ServerSocket server;

    private interface Talk {
        void with(Socket client) throws Exception;
    }

    @BeforeEach
    void start() throws IOException {
        fleet = new Fleet(directory);
        server = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.5"));
    }

    @AfterEach
    void close() throws Exception {
        server.close();
        fleet.close();
    }

    @Test
    void nobodyThere() throws Exception {
        server.close();

        assertRefused(connection(), ProblemCode.HOST_UNREACHABLE)
                .isEqualTo("no connection to 127.0.0.5 port %d: Connection refused".formatted(server.getLocalPort()));
    }

    @Test
    void nobodyOfThatName() throws Exception {
        var access = access(
                new Lookup(name -> {
                    throw new UnknownHostException(name);
                }),
                HANG);

        assertRefused(fleet.connect(access, "gpu-1"), ProblemCode.DNS_FAILED)
                .isEqualTo("there is no address for gpu-1");
    }

    @Test
    void nobodySaysTheAddressInTime() throws Exception {
        var never = new CountDownLatch(1);
        var lookup = new Lookup(_ -> {
            try {
                never.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return new InetAddress[0];
        });
        var connection = fleet.connect(access(lookup, TIMEOUT), "gpu-1");

        assertRefused(connection, ProblemCode.CONNECT_TIMEOUT).contains("address");

        var sshd = fleet.server("127.0.0.2");
        fleet.known(sshd.known());
        assertThat(fleet.connect(access(lookup, HANG), sshd.target())
                        .run(Fleet.request("true"))
                        .exitCode())
                .as("an address needs nobody who says it")
                .isZero();
        never.countDown();
    }

    @Test
    void aNameWithSeveralAddressesIsReachedAtTheOneThatAnswers() throws Exception {
        var sshd = fleet.server("127.0.0.2");
        var lookup = new Lookup(
                _ -> new InetAddress[] {InetAddress.ofLiteral("127.0.0.250"), InetAddress.ofLiteral("127.0.0.2")});
        fleet.known("[gpu-1]:%d %s\n".formatted(sshd.port(), sshd.hostKey()));

        var connection = fleet.connect(access(lookup, HANG), "gpu-1:" + sshd.port());

        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }

    @Test
    void oneThatSaysNothing() throws Exception {
        serve(client -> client.getInputStream().readAllBytes());

        assertRefused(impatient(), ProblemCode.CONNECT_TIMEOUT);
    }

    @Test
    void oneThatSaysAByteNowAndThen() throws Exception {
        serve(client -> {
            while (true) {
                client.getOutputStream().write('S');
                Thread.sleep(20);
            }
        });

        assertRefused(impatient(), ProblemCode.CONNECT_TIMEOUT)
                .isEqualTo("no connection within 700 ms: it did not finish the key exchange and the login");
    }

    @Test
    void oneThatTalksWithoutEnd() throws Exception {
        serve(client -> forever(client.getOutputStream(), "Welcome to this host\r\n"));
        fleet.known("");
        var patient = fleet.connect(fleet.access(Fleet.PATIENCE), "127.0.0.5:" + server.getLocalPort());

        assertRefused(patient, ProblemCode.CONNECTION_LOST)
                .isEqualTo("the connection was lost before the login: it says too much that nobody asked for");
    }

    @Test
    void oneThatSpeaksAnotherLanguage() throws Exception {
        serve(client -> forever(client.getOutputStream(), "\u0001\u0002\u0003"));

        assertRefused(connection(), ProblemCode.SSH_FAILED).contains("invalid server's version string");
    }

    @Test
    void oneThatBeginsWellAndGoesOnWithGarbage() throws Exception {
        serve(client -> {
            client.getOutputStream().write("SSH-2.0-x\r\n".getBytes(StandardCharsets.US_ASCII));
            forever(client.getOutputStream(), "\u0000\u0000\u0000\u00ffgarbage");
        });

        assertRefused(connection(), ProblemCode.SSH_FAILED);
    }

    @Test
    void oneThatHangsUp() throws Exception {
        serve(Socket::close);

        assertRefused(connection(), ProblemCode.CONNECTION_LOST);
    }

    @Test
    void oneThatHangsUpWithWords() throws Exception {
        serve(client -> {
            client.getOutputStream().write("Not allowed at this time\r\n".getBytes(StandardCharsets.US_ASCII));
            client.close();
        });

        assertRefused(connection(), ProblemCode.CONNECTION_LOST);
    }

    @Test
    void nothingOfWhatItSaidIsKept() throws Exception {
        serve(client -> forever(client.getOutputStream(), "\u0001\u0002\u0003"));

        assertThatThrownBy(() -> connection().run(Fleet.request("true")))
                .isInstanceOf(UnreachableException.class)
                .hasNoCause();
    }

    @Test
    void oneThatNobodyWaitsForAnyLonger() throws Exception {
        var hungUp = new CountDownLatch(1);
        var begun = new CountDownLatch(1);
        serve(client -> {
            begun.countDown();
            client.getInputStream().readAllBytes();
            hungUp.countDown();
        });
        fleet.known("");
        var connection = fleet.connect(fleet.access(Duration.ofMinutes(10)), "127.0.0.5:" + server.getLocalPort());
        var task = new FutureTask<>(() -> connection.run(Fleet.request("true")));
        var thread = Thread.ofPlatform().start(task);
        begun.await();

        thread.interrupt();

        assertThat(thread.join(HANG)).isTrue();
        await().until(() -> hungUp.getCount() == 0);
        assertThat(task.exceptionNow()).isInstanceOf(InterruptedException.class);
    }

    private KeptExchange connection() throws IOException {
        return fleet.connect(access(new Lookup(), HANG), "127.0.0.5:" + server.getLocalPort());
    }

    private KeptExchange impatient() throws IOException {
        return fleet.connect(access(new Lookup(), TIMEOUT), "127.0.0.5:" + server.getLocalPort());
    }

    private SshAccess access(Lookup lookup, Duration timeout) throws IOException {
        if (!Files.exists(directory.resolve("known_hosts"))) {
            fleet.known("");
        }
        return fleet.access(
                new SshSettings("root", fleet.key.file(), null, null, directory.resolve("known_hosts"), timeout),
                lookup);
    }

    private void serve(Talk talk) {
        Thread.startVirtualThread(() -> {
            try (var client = server.accept()) {
                talk.with(client);
            } catch (Exception _) {
                // the client hung up, or the test is over
            }
        });
    }

    private static void forever(OutputStream stream, String text) throws IOException {
        while (true) {
            stream.write(text.getBytes(StandardCharsets.ISO_8859_1));
        }
    }
}
