package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/** Several {@link RealSshd}, each on a loopback address of its own, and the one key that opens them all. */
public final class RealHosts implements AutoCloseable {
    /** Set where a machine that cannot run them is a failure. */
    private static final String REQUIRED = "tests.sshd.required";

    private final Path directory;
    private final Path identity;
    private final Path knownHosts;
    private final List<RealSshd> hosts = new ArrayList<>();

    /** Skips the test on a machine where they cannot be. */
    public RealHosts(Path directory) throws IOException {
        assumePossible();
        this.directory = Files.createDirectories(directory);
        identity = directory.resolve("id");
        knownHosts = directory.resolve("known_hosts");
        Programs.newKey(identity);
    }

    /** One more, which runs and whose key is known. */
    public RealSshd start(String name) throws IOException {
        var host = add(name).start();
        know();
        return host;
    }

    /** One more, which does not run yet. */
    public RealSshd add(String name) throws IOException {
        var key = Files.readString(directory.resolve("id.pub"));
        var host = new RealSshd(directory.resolve(name), name, "127.0.0." + (2 + hosts.size()), key);
        hosts.add(host);
        return host;
    }

    /** The private key, without a passphrase. */
    public Path identity() {
        return identity;
    }

    public Path knownHosts() {
        return knownHosts;
    }

    /** Writes the keys that all of them have at this moment. */
    public void know() throws IOException {
        know(hosts);
    }

    /** Writes them without that of this one. */
    public void forget(RealSshd host) throws IOException {
        know(hosts.stream().filter(other -> other != host).toList());
    }

    private void know(List<RealSshd> these) throws IOException {
        var lines = new StringBuilder();
        for (var host : these) {
            lines.append(host.known());
        }
        know(lines.toString());
    }

    /** Writes these lines, in the place of the file before. */
    public void know(String lines) throws IOException {
        var finished = Files.writeString(directory.resolve("known_hosts.new"), lines);
        Files.move(finished, knownHosts, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void close() throws IOException {
        for (var host : hosts) {
            host.close();
        }
    }

    /** Skips the test, or fails it where that is asked for. */
    public static void assumePossible() throws IOException {
        var reason = whyImpossible();
        if (!reason.isEmpty() && Boolean.getBoolean(REQUIRED)) {
            fail(reason);
        } else if (!reason.isEmpty()) {
            abort(reason);
        }
    }

    private static String whyImpossible() throws IOException {
        if (!Myself.isRoot()) {
            return "only root can make machines with sshd and sudo";
        }
        for (var program : List.of("/usr/sbin/sshd", "/usr/bin/ssh-keygen", "/usr/bin/sudo", "/usr/bin/unshare")) {
            if (!Files.isExecutable(Path.of(program))) {
                return program + " is not there";
            }
        }
        try {
            Programs.run("unshare", "--mount", "--uts", "mount", "-t", "tmpfs", "tmp", "/run");
            return "";
        } catch (IOException e) {
            return "no mount namespaces here: " + e.getMessage();
        }
    }
}
