package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPair;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.remote.ssh.Transport.Lookups.Names;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.assertj.core.api.AbstractStringAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every test has its own server, a key for it, and a client without a connection. The time of pauses advances only by a test. Servers
 * know {@code true}, and {@code echo}, which prints the first line of its input.
 */
@Timeout(600)
abstract class ServerTest {
    private static final Duration SHORT_TIMEOUT = Duration.ofMillis(300);

    @TempDir
    Path directory;

    final AtomicLong nanos = new AtomicLong();
    private final List<Closeable> resources = new ArrayList<>();
    ClientKey key;
    FakeSshd server;
    Connection connection;

    @BeforeEach
    final void startServer() throws IOException {
        key = ClientKey.create(directory, "id", null);
        server = server("127.0.0.2");
        connection = connect(access(server.knownHostsLine()), server.target());
    }

    @AfterEach
    final void closeAll() throws IOException {
        for (var each : resources.reversed()) {
            each.close();
        }
    }

    /**
     * A private key to log in with.
     *
     * @param publicKey as authorized_keys has it
     */
    record ClientKey(Path file, String publicKey) {
        static ClientKey create(Path directory, String name, @Nullable String passphrase) throws IOException {
            try {
                var pair = KeyPair.genKeyPair(new JSch(), KeyPair.ECDSA, 256);
                var secret = new ByteArrayOutputStream();
                var open = new ByteArrayOutputStream();
                pair.writeOpenSSHv1PrivateKey(
                        secret, passphrase == null ? null : passphrase.getBytes(StandardCharsets.UTF_8));
                pair.writePublicKey(open, "test");
                var file = Files.write(directory.resolve(name), secret.toByteArray());
                return new ClientKey(file, open.toString(StandardCharsets.UTF_8).strip());
            } catch (JSchException e) {
                throw new IOException(e);
            }
        }
    }

    final FakeSshd server(String address) throws IOException {
        var started = new FakeSshd(address, key.publicKey());
        resources.add(started);
        started.addProgram("true", (_, _, _) -> 0);
        return started.addProgram("echo", (in, out, _) -> {
            var line = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)).readLine();
            out.write(line.getBytes(StandardCharsets.UTF_8));
            return 0;
        });
    }

    final Path writeKnownHosts(String... lines) throws IOException {
        return writeFile("known_hosts", String.join("", lines));
    }

    final Path writeFile(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    /** Returns settings for root with the key, and these lines of known_hosts. */
    final SshAccess access(String... known) throws IOException {
        return access(HANG, known);
    }

    final SshAccess access(Duration timeout, String... known) throws IOException {
        return access(new SshSettings("root", key.file(), null, null, null, writeKnownHosts(known), timeout));
    }

    /** Returns settings for root with the present known_hosts, and another private key or none. */
    final SshAccess accessWithKey(@Nullable Path identity, @Nullable Path passphrase) {
        var known = directory.resolve("known_hosts");
        return access(new SshSettings("root", identity, passphrase, null, null, known, HANG));
    }

    final SshAccess access(SshSettings settings) {
        return access(settings, InetAddress::getAllByName);
    }

    final SshAccess access(SshSettings settings, Names names) {
        return new SshAccess(settings, names, nanos::get, () -> 0);
    }

    final SshAccess accessWithConfig(String config, @Nullable String user, String known) throws IOException {
        return access(new SshSettings(
                user, null, null, writeFile("config", config), null, writeFile("known_hosts", known), HANG));
    }

    final Connection connect(SshAccess access, String address) {
        var made = access.connection(HostAddress.parse(address));
        resources.add(made::close);
        return made;
    }

    /** Advances the time of pauses. */
    final void advanceTime(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    static void assertReached(Connection connection) throws Exception {
        assertThat(connection.request(request("true"))).isEqualTo(new CommandResult("", "", 0, null));
    }

    /** Whether a connection reaches its machine after a pause; it may not, because a short timeout can end the login. */
    final boolean isReached(Connection connection) throws InterruptedException {
        advanceTime(Duration.ofMinutes(1));
        try {
            return connection.request(request("true")).exitCode() != null;
        } catch (UnreachableException e) {
            return false;
        }
    }

    static AbstractStringAssert<?> assertRefused(Connection connection, ProblemCode code) {
        var thrown = catchThrowableOfType(UnreachableException.class, () -> connection.request(request("true")));
        assertThat(thrown).as("somebody who cannot be reached").isNotNull();
        assertThat(thrown.code()).as(thrown.getMessage()).isEqualTo(code);
        return assertThat(thrown.getMessage());
    }

    static void assertInterrupted(CommandResult answer, ProblemCode code) {
        assertThat(answer.interruption()).isNotNull();
        assertThat(answer.interruption().code()).as(answer.toString()).isEqualTo(code);
    }

    static ProgramRequest request(String command) {
        return request(command, HANG);
    }

    static ProgramRequest request(String command, Duration timeout) {
        return request(command, "", timeout, 1 << 20);
    }

    /** A command that gets one line of input: a program that never answers. */
    static ProgramRequest request(String command, String input, Duration timeout, int maxOutput) {
        return new ProgramRequest(command, "", input + "\n", "no answer", false, timeout, maxOutput);
    }

    /** A program that neither reads nor answers. */
    static int hang(Object in, Object out, Object errors) throws InterruptedException {
        Thread.sleep(Duration.ofMinutes(10));
        return 0;
    }

    /**
     * Runs a command that never ends, with a growing timeout until the command reached the expected stage, because a busy machine is slow.
     */
    final CommandResult runUntilAborted(
            Connection connection, Function<Duration, ProgramRequest> command, Predicate<CommandResult> farEnough)
            throws UnreachableException, InterruptedException {
        for (var timeout = SHORT_TIMEOUT; ; timeout = timeout.multipliedBy(2)) {
            assertThat(connection.request(request("true")).exitCode()).isZero();
            try {
                var answer = connection.request(command.apply(timeout));
                if (farEnough.test(answer) || timeout.compareTo(HANG) > 0) {
                    return answer;
                }
            } catch (UnreachableException e) { // the command did not begin
                if (timeout.compareTo(HANG) > 0) {
                    throw e;
                }
            }
            advanceTime(Duration.ofMinutes(1));
        }
    }
}
