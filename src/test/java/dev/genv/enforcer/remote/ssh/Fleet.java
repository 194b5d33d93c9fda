package dev.genv.enforcer.remote.ssh;

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
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Servers, a key for them, and what the service needs to log in on them. Time passes for its pauses when a test says so. */
final class Fleet implements Closeable {
    /** What a command is given at most in these tests, unless they want to see it break off. */
    static final Duration PATIENCE = Duration.ofSeconds(20);

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
        return access(Duration.ofSeconds(20), known);
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
        return access(new SshSettings(
                user, null, null, file("config", config), file("known_hosts", known), Duration.ofSeconds(20)));
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
