package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.JSchException;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import dev.genv.enforcer.remote.ssh.SshConnection.BackOff;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** SSH access to all machines: what their connections share. */
public final class SshAccess {
    private static final int LARGEST_CONFIG = 1 << 20;

    private final HopResolver routes;
    private final SshConnector connector;
    private final Duration timeout;
    private final Supplier<BackOff> backOffs;

    /**
     * Reads the files that the settings name.
     *
     * @throws IllegalArgumentException if one of these files cannot be used, with the reason
     */
    public SshAccess(SshSettings settings) {
        this(
                settings,
                InetAddress::getAllByName,
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextLong());
    }

    SshAccess(SshSettings settings, DirectSockets.Names names, LongSupplier nanoTime, RandomGenerator random) {
        var keyFiles = new KeyFiles(settings.passphraseFile());
        this.connector = new SshConnector(keyFiles, names, settings.timeout());
        this.timeout = settings.timeout();
        this.backOffs = () -> new BackOff(nanoTime, random);
        try {
            this.routes = new HopResolver(
                    settings,
                    config(settings.sshConfig()),
                    System.getProperty("user.name", "root"),
                    System.getProperty("user.home", "/"));
            if (!Files.isReadable(settings.knownHosts())) {
                throw new IOException(settings.knownHosts() + " cannot be read");
            }
            keyFiles.knownHosts(List.of(settings.knownHosts()));
            if (settings.identityFile() != null) {
                keyFiles.identities(List.of(settings.identityFile()));
            }
        } catch (IOException | JSchException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** Creates the connection of a machine; it is opened for the first command. */
    public Connection connection(HostAddress address) {
        return new SshConnection(begin -> connector.connect(route(address), begin), backOffs.get(), timeout);
    }

    private List<Hop> route(HostAddress address) throws UnreachableException {
        try {
            return routes.resolve(address);
        } catch (IllegalArgumentException e) {
            throw new UnreachableException(
                    ProblemCode.SSH_FAILED, "the SSH configuration is invalid for this host: " + e.getMessage());
        }
    }

    private static SshConfig config(@Nullable Path path) throws IOException {
        if (path == null) {
            return SshConfig.EMPTY;
        }
        try {
            return new WatchedFile<>(
                            path, LARGEST_CONFIG, bytes -> SshConfig.parse(new String(bytes, StandardCharsets.UTF_8)))
                    .current();
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
        }
    }

    /**
     * How machines are reached over SSH. All paths are absolute.
     *
     * @param username the user to log in as; null for the user of the SSH configuration, or else the service's own user
     * @param identityFile a private key; null for the keys of the SSH configuration
     * @param passphraseFile a file with the passphrase of all private keys; null if they are not encrypted
     * @param sshConfig an OpenSSH client configuration; null for none
     * @param knownHosts the host keys, in OpenSSH's known_hosts format
     * @param timeout the time limit of a connection attempt, all hops and the login included
     */
    public record SshSettings(
            @Nullable String username,
            @Nullable Path identityFile,
            @Nullable Path passphraseFile,
            @Nullable Path sshConfig,
            Path knownHosts,
            Duration timeout) {}
}
