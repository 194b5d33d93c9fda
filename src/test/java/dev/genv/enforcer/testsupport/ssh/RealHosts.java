package dev.genv.enforcer.testsupport.ssh;

import static org.assertj.core.api.Assertions.fail;

import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.opentest4j.TestAbortedException;

/** Several {@link RealSshd}, each at its own loopback address, and one key for all. */
public final class RealHosts implements AutoCloseable {
    /** With this property the tests fail on a machine that cannot run them. */
    private static final String REQUIRED = "tests.sshd.required";

    /** Only this process uses these addresses, so no other one can take a port while a machine does not listen. */
    private static final String NETWORK = "127.%d.%d."
            .formatted(
                    1 + (ProcessHandle.current().pid() >> 8) % 250,
                    ProcessHandle.current().pid() % 256);

    private final Path directory;
    private final Path identity;
    private final Path knownHosts;
    private final List<RealSshd> hosts = new ArrayList<>();

    /** Skips the test on a machine that cannot run them. */
    public RealHosts(Path directory) throws IOException {
        assumePossible();
        this.directory = Files.createDirectories(directory);
        identity = directory.resolve("id");
        knownHosts = directory.resolve("known_hosts");
        Programs.newKey("ed25519", identity);
    }

    /** Starts another machine with a known key. */
    public RealSshd start(String name) throws IOException {
        var key = Files.readString(directory.resolve("id.pub"));
        var host = new RealSshd(directory.resolve(name), name, NETWORK + (2 + hosts.size()), key);
        hosts.add(host);
        Files.writeString(knownHosts, host.knownHostsLine(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        return host.start();
    }

    /** The private key, without a passphrase. */
    public Path identity() {
        return identity;
    }

    public Path knownHosts() {
        return knownHosts;
    }

    @Override
    public void close() throws IOException {
        for (var host : hosts) {
            host.close();
        }
    }

    /** Skips the test, or fails it if the machines are required. */
    public static void assumePossible() throws IOException {
        try {
            requirePrograms();
        } catch (TestAbortedException e) {
            if (Boolean.getBoolean(REQUIRED)) {
                fail(e);
            }
            throw e;
        }
    }

    private static void requirePrograms() throws IOException {
        Requirements.root();
        Requirements.program("/usr/sbin/sshd", "openssh-server");
        Requirements.program("/usr/bin/ssh-keygen", "openssh-client");
        Requirements.program("/usr/bin/sudo", "sudo");
        Requirements.program("/usr/bin/python3", "python3");
        Requirements.program("/usr/bin/unshare", "util-linux");
        Requirements.mounts(canMount());
    }

    private static boolean canMount() {
        try {
            Programs.run("unshare", "--mount", "--uts", "mount", "-t", "tmpfs", "tmp", "/run");
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
