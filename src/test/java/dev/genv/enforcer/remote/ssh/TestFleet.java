package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.BufferedReader;
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
import java.util.random.RandomGenerator;
import org.assertj.core.api.AbstractStringAssert;
import org.jspecify.annotations.Nullable;

/** Servers, a key for them, and the settings to log in on them. The time of pauses advances only by a test. */
public final class TestFleet implements Closeable {
    /** The time limit of commands, except in tests of this limit. */
    public static final Duration LONG_TIMEOUT = HANG;

    private static final Duration SHORT_TIMEOUT = Duration.ofMillis(300);

    final AtomicLong nanos = new AtomicLong();
    final Path directory;
    public final ClientKey key;
    private final List<Closeable> resources = new ArrayList<>();

    public TestFleet(Path directory) throws IOException {
        this.directory = directory;
        this.key = ClientKey.create(directory);
    }

    /** Starts a server with {@code true}, and with {@code echo}, which prints the first line of its input. */
    public FakeSshd server(String address) throws IOException {
        var server = new FakeSshd(address, key.publicKey());
        resources.add(server);
        server.addProgram("true", (_, _, _) -> 0);
        return server.addProgram("echo", (in, out, _) -> {
            var line = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)).readLine();
            out.write(line.getBytes(StandardCharsets.UTF_8));
            return 0;
        });
    }

    public Path writeKnownHosts(String... lines) throws IOException {
        return writeFile("known_hosts", String.join("", lines));
    }

    public Path writeFile(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    /** Returns settings for root with the key, and these lines of known_hosts. */
    public SshAccess access(String... known) throws IOException {
        return access(HANG, known);
    }

    public SshAccess access(Duration timeout, String... known) throws IOException {
        return access(new SshSettings("root", key.file(), null, null, writeKnownHosts(known), timeout));
    }

    SshAccess access(SshSettings settings) {
        return access(settings, InetAddress::getAllByName);
    }

    public SshAccess access(SshSettings settings, DirectSockets.Names names) {
        RandomGenerator half = () -> 0;
        return new SshAccess(settings, names, nanos::get, half);
    }

    SshAccess accessWithConfig(String config, @Nullable String user, String known) throws IOException {
        return access(
                new SshSettings(user, null, null, writeFile("config", config), writeFile("known_hosts", known), HANG));
    }

    public Connection connect(SshAccess access, String address) {
        var connection = access.connection(HostAddress.parse(address));
        resources.add(connection::close);
        return connection;
    }

    /** Advances the time of pauses. */
    public void advanceTime(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    /** Whether a connection reaches its machine after a pause; it may not, because a short timeout can end the login. */
    public boolean isReached(Connection connection) throws InterruptedException {
        advanceTime(Duration.ofMinutes(1));
        try {
            return connection.request(request("true")).exitCode() != null;
        } catch (UnreachableException e) {
            return false;
        }
    }

    public static ProgramRequest request(String command) {
        return request(command, LONG_TIMEOUT);
    }

    public static ProgramRequest request(String command, Duration timeout) {
        return request(command, "", timeout, 1 << 20);
    }

    /** A command that gets one line of input: a program that never answers. */
    static ProgramRequest request(String command, String input, Duration timeout, int maxOutput) {
        return new ProgramRequest(command, "", input + "\n", "no answer", false, timeout, maxOutput);
    }

    static AbstractStringAssert<?> assertRefused(Connection connection, ProblemCode code) {
        return assertRefused(connection, code, HANG);
    }

    static AbstractStringAssert<?> assertRefused(Connection connection, ProblemCode code, Duration timeout) {
        var thrown =
                catchThrowableOfType(UnreachableException.class, () -> connection.request(request("true", timeout)));
        assertThat(thrown).as("somebody who cannot be reached").isNotNull();
        assertThat(thrown.code()).as(thrown.getMessage()).isEqualTo(code);
        return assertThat(thrown.getMessage());
    }

    /**
     * Runs a command that never ends, with a growing timeout until the command reached the expected stage, because a busy machine is slow.
     */
    public CommandResult runUntilAborted(
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

    @Override
    public void close() throws IOException {
        for (var each : resources.reversed()) {
            each.close();
        }
    }
}
