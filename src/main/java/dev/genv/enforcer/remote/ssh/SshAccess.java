package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.AgentIdentityRepository;
import com.jcraft.jsch.HostKey;
import com.jcraft.jsch.IdentityRepository;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchChangedHostKeyException;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.JSchHostKeyException;
import com.jcraft.jsch.JSchInvalidHostCertificateException;
import com.jcraft.jsch.JSchRevokedHostKeyException;
import com.jcraft.jsch.JSchSessionDisconnectException;
import com.jcraft.jsch.JSchUnknownCAKeyException;
import com.jcraft.jsch.Logger;
import com.jcraft.jsch.SSHAgentConnector;
import com.jcraft.jsch.Session;
import com.jcraft.jsch.USocketFactory;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import dev.genv.enforcer.remote.ssh.KeyFiles.KnownHosts;
import dev.genv.enforcer.remote.ssh.SshConnection.BackOff;
import dev.genv.enforcer.remote.ssh.Transport.Lookups;
import java.io.IOException;
import java.net.InetAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Hashtable;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** SSH access to all machines: what their connections share, and the login. One instance is used by many threads. */
public final class SshAccess {
    private static final Duration MAX_PERMIT_TIME = Duration.ofSeconds(1);
    private static final int MAX_CONCURRENT_ATTEMPTS =
            Math.max(64, 32 * Runtime.getRuntime().availableProcessors());

    /**
     * JSch names these methods if no key is accepted. After one was accepted it names the methods that the server demands too, none of
     * which has this second name.
     */
    private static final String METHODS = "publickey,-";

    @SuppressWarnings("JdkObsolete") // required by JSch
    static final Hashtable<String, String> JSCH_CONFIG = new Hashtable<>(Map.ofEntries(
            Map.entry("StrictHostKeyChecking", "yes"),
            Map.entry("PreferredAuthentications", METHODS),
            Map.entry("enable_auth_none", "no"),
            // The server chooses how often keys are exchanged, so algorithms that take a tenth of a second are left
            // out.
            Map.entry(
                    "kex",
                    "mlkem768x25519-sha256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,"
                            + "ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group14-sha256"),
            // Otherwise JSch generates a key pair of each offered kind for each connection.
            Map.entry("CheckKexes", "")));

    /** The kinds of host keys without certificates. */
    static final String KEY_ALGORITHMS = Stream.of(
                    JSch.getConfig("server_host_key").split(",", -1))
            .filter(algorithm -> !algorithm.endsWith("-cert-v01@openssh.com"))
            .collect(Collectors.joining(","));

    private final JSch jsch = new JSch();
    private final SshSettings settings;
    private final KeyFiles keyFiles;
    private final HopResolver routes;
    private final Lookups lookups;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;
    private final ConnectPermits permits = new ConnectPermits(MAX_CONCURRENT_ATTEMPTS, MAX_PERMIT_TIME);

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

    SshAccess(SshSettings settings, Lookups.Names names, LongSupplier nanoTime, RandomGenerator random) {
        this.settings = settings;
        this.keyFiles = new KeyFiles(settings.passphraseFile());
        this.lookups = new Lookups(names);
        this.nanoTime = nanoTime;
        this.random = random;
        try {
            var home = System.getProperty("user.home", "/");
            var config = settings.sshConfig();
            this.routes = new HopResolver(
                    settings,
                    config == null ? SshConfig.EMPTY : SshConfig.read(config, home),
                    System.getProperty("user.name", "root"),
                    home);
            if (!Files.isReadable(settings.knownHosts())) {
                throw new IOException(settings.knownHosts() + " cannot be read");
            }
            keyFiles.hostKeys(settings.knownHosts());
            if (settings.identityFile() != null) {
                keyFiles.identities(List.of(settings.identityFile()), List.of());
            }
        } catch (IOException | JSchException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** Creates the connection of a machine; it is opened for the first request. */
    public Connection connection(HostAddress address) {
        return new SshConnection(begin -> connect(address, begin), new BackOff(nanoTime, random), settings.timeout());
    }

    /**
     * Logs in to a machine through the hops before it.
     *
     * @param begin the deadline for the start of the attempt; the time limit of the attempt begins at its start
     * @throws TimeoutException if other attempts held all permits until then
     * @throws UnreachableException if the login fails or exceeds the time limit. It has no cause: a cause may hold the host's whole
     *     output, and would stay in memory while the host is away.
     */
    Transport connect(HostAddress address, Deadline begin)
            throws UnreachableException, TimeoutException, InterruptedException {
        var hops = route(address);
        var permit = permits.acquire(begin);
        try {
            return connect(hops);
        } finally {
            permit.run();
        }
    }

    private List<Hop> route(HostAddress address) throws UnreachableException {
        try {
            return routes.resolve(address);
        } catch (IllegalArgumentException e) {
            throw new UnreachableException(
                    ProblemCode.SSH_FAILED, "the SSH configuration is invalid for this host: " + e.getMessage());
        }
    }

    private Transport connect(List<Hop> hops) throws UnreachableException, InterruptedException {
        var timeout = settings.timeout();
        var deadline = Deadline.in(timeout);
        var transport = new Transport(lookups, hops.size(), deadline);
        try {
            return deadline.call(() -> logIn(hops, transport), transport::close);
        } catch (TimeoutException _) {
            throw new UnreachableException(
                    ProblemCode.CONNECT_TIMEOUT,
                    "no connection within " + timeout.toMillis() + " ms: " + transport.stage());
        } catch (ExecutionException e) {
            transport.close();
            if (e.getCause() instanceof UnreachableException failure) {
                throw failure;
            }
            throw new UnreachableException(ProblemCode.SSH_FAILED, "SSH with it failed: " + e.getCause());
        }
    }

    private Transport logIn(List<Hop> hops, Transport transport) throws UnreachableException {
        Session last = null;
        for (var hop : hops) {
            try {
                last = logIn(hop, last, transport);
            } catch (UnreachableException e) {
                if (hop.equals(hops.getLast())) {
                    throw e;
                }
                throw new UnreachableException(e.code(), "at the jump host " + hop.name() + ": " + e.getMessage());
            }
        }
        transport.loggedIn(Objects.requireNonNull(last));
        return transport;
    }

    private Session logIn(Hop hop, @Nullable Session before, Transport transport) throws UnreachableException {
        var known = knownKeys(hop);
        var errors = new LoginErrors();
        Session session = null;
        try {
            session = jsch.getSession(hop.user(), hop.host(), hop.port());
            session.setConfig(JSCH_CONFIG);
            session.setLogger(errors);
            session.setHostKeyRepository(known);
            if (!known.hasAuthority()) {
                session.setConfig("server_host_key", KEY_ALGORITHMS);
            }
            // Like OpenSSH, a key that is known needs no certificate. Otherwise the failure shows what is wrong with
            // that.
            session.setConfig("host_certificate_to_key_fallback", known.knows(hop.keyName()) ? "yes" : "no");
            session.setHostKeyAlias(hop.keyAlias());
            session.setIdentityRepository(identities(hop, transport));
            session.setThreadFactory(singleThread(transport));
            session.setSocketFactory(transport);
            if (before != null) {
                session.setProxy(new JumpProxy(before, transport));
            }
            session.connect(transport.deadline().millis());
            // A thread that sends during a key exchange waits this long; without a limit forever, even after a close.
            session.setTimeout(Math.clamp(settings.timeout().toMillis(), 1, Integer.MAX_VALUE));
            transport.readWithoutLimit();
            return session;
        } catch (JSchException | RuntimeException e) {
            throw new SshFailures(jsch, hop, known)
                    .explain(e, session == null ? null : session.getHostKey(), errors.last);
        } catch (IOException e) {
            throw SshFailures.login(String.valueOf(e.getMessage()));
        }
    }

    /** Without a private key of the settings or the SSH configuration, those of ssh-agent are used. */
    private IdentityRepository identities(Hop hop, Transport transport) throws IOException, JSchException {
        var agent = settings.agent();
        if (agent == null || !hop.identities().isEmpty()) {
            return keyFiles.identities(hop.identities(), hop.certificates());
        }
        var keys =
                new AgentIdentityRepository(new SSHAgentConnector(new AgentSockets(transport), agent)).getIdentities();
        if (keys.isEmpty()) {
            throw new IOException("there is no private key in ssh-agent, or it does not answer at " + agent);
        }
        return keyFiles.identities(keys, hop.certificates(), List.of());
    }

    /** Connections to ssh-agent, which are closed with the transport: the agent may wait for its user for ever. */
    private record AgentSockets(Transport transport) implements USocketFactory {
        @Override
        public SocketChannel connect(Path path) throws IOException {
            var channel = transport.register(SocketChannel.open(StandardProtocolFamily.UNIX));
            channel.connect(UnixDomainSocketAddress.of(path));
            return channel;
        }

        @Override
        public ServerSocketChannel bind(Path path) {
            throw new UnsupportedOperationException();
        }
    }

    private KnownHosts knownKeys(Hop hop) throws UnreachableException {
        try {
            return keyFiles.knownHosts(hop);
        } catch (IOException e) {
            throw new UnreachableException(
                    ProblemCode.HOST_KEY_UNKNOWN, "its host key cannot be checked: " + e.getMessage());
        }
    }

    /**
     * Provides the one thread that reads a connection. JSch would start another one for each channel that the server opens,
     * without a limit; a second request ends the connection instead.
     */
    private static ThreadFactory singleThread(Transport transport) {
        var given = new AtomicBoolean();
        return work -> {
            if (given.getAndSet(true)) {
                transport.close();
                throw new IllegalStateException("the server opens channels that the service did not request");
            }
            return Thread.ofVirtual().name("ssh").unstarted(work);
        };
    }

    /**
     * Limits how many connection attempts run at the same time. A permit expires after a time limit, so that attempts that hang
     * do not block the others.
     */
    record ConnectPermits(Semaphore free, Duration longest) {
        ConnectPermits(int most, Duration longest) {
            this(new Semaphore(most, true), longest);
        }

        /**
         * Waits for a permit.
         *
         * @return releases the permit, once
         * @throws TimeoutException if no permit is free before the deadline
         */
        Runnable acquire(Deadline deadline) throws TimeoutException, InterruptedException {
            if (!free.tryAcquire(deadline.remaining().toNanos(), TimeUnit.NANOSECONDS)) {
                throw new TimeoutException("no permit was free in time");
            }
            var release = new FutureTask<>(free::release, true);
            CompletableFuture.delayedExecutor(longest.toNanos(), TimeUnit.NANOSECONDS)
                    .execute(release);
            return release;
        }
    }

    /** Keeps the I/O error of a login. JSch only logs it, and then says that the key was refused. */
    private static final class LoginErrors implements Logger {
        private volatile @Nullable IOException last;

        @Override
        public boolean isEnabled(int level) {
            return level == WARN;
        }

        @Override
        public void log(int level, String message) {}

        @Override
        public void log(int level, String message, Throwable cause) {
            if (cause instanceof IOException error) {
                last = error;
            }
        }
    }

    /** Explains why a login failed, and what an administrator can do about it. */
    private record SshFailures(JSch jsch, Hop hop, KnownHosts keys) {
        private static final int LONGEST = 200;
        private static final Pattern REMAINING = Pattern.compile("(?s) for methods '(.*)'$");

        /**
         * Converts a failure of JSch.
         *
         * @param shown the host key that the server presented; null if it presented none
         * @param lost an I/O error of the login; null if there was none
         */
        UnreachableException explain(Throwable failure, @Nullable HostKey shown, @Nullable IOException lost) {
            if (failure instanceof JSchHostKeyException refusal) {
                return key(refusal, shown);
            }
            if (failure instanceof JSchSessionDisconnectException end) {
                return ended(words(end.getDescription()));
            }
            for (Throwable each = failure; each != null; each = each.getCause()) {
                if (each instanceof IOException io) {
                    return network(io, words(io.getMessage()));
                }
            }
            var words = words(failure.getMessage());
            if (words.startsWith("rejected HostKey: ") || words.startsWith("CA signature algorithm ")) {
                return certificate(failure);
            }
            if (words.startsWith("Auth ") || words.startsWith("USERAUTH ")) {
                return lost == null
                        ? login(refusal(String.valueOf(failure.getMessage())))
                        : network(lost, words(lost.getMessage()));
            }
            if (words.startsWith("connection is closed by foreign host")) {
                return new UnreachableException(
                        ProblemCode.CONNECTION_LOST, "it closed the connection before the login");
            }
            return new UnreachableException(ProblemCode.SSH_FAILED, "SSH with it failed: " + words);
        }

        private String refusal(String message) {
            var methods = REMAINING.matcher(message);
            return methods.find() && !methods.group(1).equals(METHODS)
                    ? "it accepts the key of %s but also demands %s, and the service logs in with keys only: see AuthenticationMethods in its sshd_config"
                            .formatted(hop.user(), words(methods.group(1)))
                    : "it refuses the key of " + hop.user();
        }

        private static String words(@Nullable String message) {
            return SafeText.escape(String.valueOf(message), LONGEST);
        }

        static UnreachableException login(String words) {
            return new UnreachableException(ProblemCode.AUTHENTICATION_FAILED, words);
        }

        private UnreachableException key(JSchHostKeyException refusal, @Nullable HostKey shown) {
            var file = keys.getKnownHostsRepositoryID();
            if (refusal instanceof JSchInvalidHostCertificateException
                    || refusal instanceof JSchUnknownCAKeyException) {
                return certificate(refusal);
            }
            var key =
                    shown == null ? "its key" : "its key (" + shown.getType() + " " + shown.getFingerPrint(jsch) + ")";
            // JSch itself refuses a certificate with a revoked key, and then shows no key.
            if (refusal instanceof JSchRevokedHostKeyException || (shown != null && keys.revokes(shown.getKey()))) {
                return new UnreachableException(ProblemCode.HOST_KEY_CHANGED, key + " is revoked in " + file);
            }
            if (refusal instanceof JSchChangedHostKeyException || keys.knows(hop.keyName())) {
                var advice = " is not the one in " + file + " for " + hop.keyName()
                        + ": another machine may intercept the connection; if the key was changed on purpose, compare"
                        + " it on the host and replace it there";
                return new UnreachableException(ProblemCode.HOST_KEY_CHANGED, key + advice);
            }
            var advice =
                    "%s is not in %s: compare it on the host (ssh-keygen -lf), then add the line of ssh-keyscan -p %d %s"
                            .formatted(key, file, hop.port(), hop.host());
            return new UnreachableException(ProblemCode.HOST_KEY_UNKNOWN, advice);
        }

        private static UnreachableException certificate(Throwable refusal) {
            return new UnreachableException(
                    ProblemCode.HOST_KEY_UNKNOWN, "its host certificate is refused: " + words(refusal.getMessage()));
        }

        private UnreachableException ended(String words) {
            return words.toLowerCase(Locale.ROOT).contains("authentication failures")
                    ? login("it refuses the keys of " + hop.user() + ": " + words)
                    : new UnreachableException(ProblemCode.SSH_FAILED, "it ended the connection: " + words);
        }

        private UnreachableException network(IOException io, String words) {
            var where = hop.host() + " port " + hop.port();
            var isReset = words.startsWith("Connection reset") || words.startsWith("Broken pipe");
            return switch (io) {
                case UnknownHostException _ ->
                    new UnreachableException(ProblemCode.DNS_FAILED, "there is no address for " + hop.host());
                case SocketTimeoutException _ ->
                    new UnreachableException(
                            ProblemCode.CONNECT_TIMEOUT, "no answer in time from " + where + ": " + words);
                case SocketException _
                when !isReset ->
                    new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no connection to " + where + ": " + words);
                default ->
                    new UnreachableException(
                            ProblemCode.CONNECTION_LOST, "the connection was lost before the login: " + words);
            };
        }
    }

    /**
     * How machines are reached over SSH. All paths are absolute.
     *
     * @param username the user to log in as; null for the user of the SSH configuration, or else the service's own user
     * @param identityFile a private key; null for the keys of the SSH configuration
     * @param passphraseFile a file with the passphrase of all private keys; null if they are not encrypted
     * @param sshConfig an OpenSSH client configuration; null for none
     * @param agent the socket of ssh-agent; null for none
     * @param knownHosts the host keys, in OpenSSH's known_hosts format
     * @param timeout the time limit of a connection attempt, all hops and the login included
     */
    public record SshSettings(
            @Nullable String username,
            @Nullable Path identityFile,
            @Nullable Path passphraseFile,
            @Nullable Path sshConfig,
            @Nullable Path agent,
            Path knownHosts,
            Duration timeout) {}
}
