package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.files.WatchedFile;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.KeptExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The way to all hosts of a fleet: what their connections share. */
public final class SshAccess {
    private static final int LARGEST_CONFIG = 1 << 20;

    private final Routes routes;
    private final Dialer dialer;
    private final Duration timeout;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;

    /**
     * Reads what the settings name.
     *
     * @throws IllegalArgumentException where one of those files cannot be used, with the reason
     */
    public SshAccess(SshSettings settings) {
        this(
                settings,
                new Lookup(),
                System::nanoTime,
                () -> ThreadLocalRandom.current().nextLong());
    }

    SshAccess(SshSettings settings, Lookup lookup, LongSupplier nanoTime, RandomGenerator random) {
        var keyFiles = new KeyFiles(settings.passphraseFile());
        var home = System.getProperty("user.home", "/");
        this.routes = new Routes(settings, config(settings.sshConfig()), System.getProperty("user.name", "root"), home);
        this.dialer = new Dialer(keyFiles, lookup, settings.timeout());
        this.timeout = settings.timeout();
        this.nanoTime = nanoTime;
        this.random = random;
        try {
            read(settings, keyFiles);
        } catch (IOException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /**
     * Tries whether the files that are named can be used.
     *
     * @throws IllegalArgumentException where one cannot, with the reason
     */
    public static void check(SshSettings settings) {
        new SshAccess(settings);
    }

    /** A connection to a host, which is made when it is needed. */
    public KeptExchange connection(HostAddress address) {
        return new Connection(begin -> dialer.connect(route(address), begin), new BackOff(nanoTime, random), timeout);
    }

    private List<Hop> route(HostAddress address) throws UnreachableException {
        try {
            return routes.to(address);
        } catch (IllegalArgumentException e) {
            throw new UnreachableException(
                    ProblemCode.SSH_FAILED, "the SSH configuration is of no use for it: " + e.getMessage(), e);
        }
    }

    private static void read(SshSettings settings, KeyFiles keyFiles) throws IOException {
        if (!Files.isReadable(settings.knownHosts())) {
            throw new IOException(settings.knownHosts() + " cannot be read");
        }
        keyFiles.knownHosts(List.of(settings.knownHosts()));
        var identity = settings.identityFile();
        if (identity != null) {
            keyFiles.identities(List.of(identity));
        }
    }

    private static SshConfig config(@Nullable Path path) {
        if (path == null) {
            return SshConfig.EMPTY;
        }
        try {
            return new WatchedFile<>(
                            path, LARGEST_CONFIG, bytes -> SshConfig.parse(new String(bytes, StandardCharsets.UTF_8)))
                    .current();
        } catch (IOException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(path + ": " + e.getMessage(), e);
        }
    }
}
