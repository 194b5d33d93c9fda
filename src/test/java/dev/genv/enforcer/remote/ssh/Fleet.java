package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Servers, a key for them, and what the service needs to log in on them. Time passes for its pauses when a test says so. */
final class Fleet implements Closeable {
    /** What a command is given at most in these tests, unless they want to see it break off. */
    static final Duration PATIENCE = HANG;

    private static final Duration SHORT = Duration.ofMillis(300);

    final AtomicLong nanos = new AtomicLong();
    final Path directory;
    final ClientKey key;
    private final List<Closeable> open = new ArrayList<>();

    Fleet(Path directory) throws IOException {
        this.directory = directory;
        this.key = ClientKey.in(directory);
    }

    /** A server with {@code cat} and {@code true}. */
    FakeSshd server(String address) throws IOException {
        var server = new FakeSshd(address, key.publicKey());
        open.add(server);
        server.program("true", (_, _, _) -> 0);
        return server.program("cat", (in, out, _) -> {
            in.transferTo(out);
            return 0;
        });
    }

    Path known(String... lines) throws IOException {
        return file("known_hosts", String.join("", lines));
    }

    Path file(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    /** As root, with the key, to the servers whose lines these are. */
    SshAccess access(String... known) throws IOException {
        return access(HANG, known);
    }

    SshAccess access(Duration timeout, String... known) throws IOException {
        return access(new SshSettings("root", key.file(), null, null, known(known), timeout));
    }

    SshAccess access(SshSettings settings) {
        return access(settings, new Lookup());
    }

    SshAccess access(SshSettings settings, Lookup lookup) {
        RandomGenerator half = () -> 0;
        return new SshAccess(settings, lookup, nanos::get, half);
    }

    SshAccess configured(String config, @Nullable String user, String known) throws IOException {
        return access(new SshSettings(user, null, null, file("config", config), file("known_hosts", known), HANG));
    }

    KeptExchange connect(SshAccess access, String address) {
        var connection = access.connection(HostAddress.parse(address));
        open.add(connection::close);
        return connection;
    }

    /** Connections fail from now on as if that much later. */
    void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    static Request request(String command) {
        return new Request(command, "", PATIENCE, 1 << 20);
    }

    static Request request(String command, Duration timeout) {
        return new Request(command, "", timeout, 1 << 20);
    }

    /**
     * Runs a command that never ends, with a timeout that grows until it came as far as it should before it was broken off:
     * on a busy machine everything takes longer.
     */
    Answer breakOff(KeptExchange connection, Function<Duration, Request> command, Predicate<Answer> farEnough)
            throws UnreachableException, InterruptedException {
        for (var timeout = SHORT; ; timeout = timeout.multipliedBy(2)) {
            assertThat(connection.run(request("true")).exitCode()).isZero();
            try {
                var answer = connection.run(command.apply(timeout));
                if (farEnough.test(answer) || timeout.compareTo(HANG) > 0) {
                    return answer;
                }
            } catch (UnreachableException e) { // the command was not even begun
                if (timeout.compareTo(HANG) > 0) {
                    throw e;
                }
            }
            pass(Duration.ofMinutes(1));
        }
    }

    /** An address of names that are made up here. */
    static Lookup lookup(String address) {
        return new Lookup(_ -> new InetAddress[] {InetAddress.ofLiteral(address)});
    }

    @Override
    public void close() throws IOException {
        for (var each : open.reversed()) {
            each.close();
        }
    }
}
