package dev.genv.enforcer.testsupport.ssh;

import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.logging.Level;
import org.apache.sshd.common.config.keys.AuthorizedKeyEntry;
import org.apache.sshd.common.config.keys.KeyUtils;
import org.apache.sshd.common.config.keys.PublicKeyEntry;
import org.apache.sshd.common.config.keys.PublicKeyEntryResolver;
import org.apache.sshd.common.kex.DHFactory;
import org.apache.sshd.common.kex.KeyExchangeFactory;
import org.apache.sshd.common.keyprovider.FileHostKeyCertificateProvider;
import org.apache.sshd.common.keyprovider.KeyPairProvider;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.session.SessionListener;
import org.apache.sshd.common.util.buffer.Buffer;
import org.apache.sshd.common.util.threads.NoCloseExecutor;
import org.apache.sshd.core.CoreModuleProperties;
import org.apache.sshd.server.SshServer;
import org.apache.sshd.server.command.AbstractCommandSupport;
import org.apache.sshd.server.forward.AcceptAllForwardingFilter;
import org.apache.sshd.server.kex.DHGServer;
import org.jboss.logmanager.LogContext;
import org.jboss.logmanager.Logger;
import org.jspecify.annotations.Nullable;

/** An SSH server in the test's JVM, whose commands are functions of the test. */
public final class FakeSshd implements Closeable {
    /** Otherwise it would log every byte. The reference keeps the logger and its level. */
    private static final Logger LOG = LogContext.getLogContext().getLogger("org.apache.sshd");

    static {
        LOG.setLevel(Level.SEVERE);
    }

    private final Map<String, Program> programs = new ConcurrentHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger commands = new AtomicInteger();
    private final String address;
    private final PublicKey clientKey;
    private volatile boolean refuseKeys;
    private volatile boolean closeInLogin;
    private List<KeyExchangeFactory> keyExchanges = List.of();
    private KeyPair hostKey = newKey();
    private int port;
    private @Nullable Path certificate;
    private SshServer server;

    /** A command with the streams of its channel; it returns the exit code. */
    public interface Program {
        int run(InputStream in, OutputStream out, OutputStream errors) throws Exception;
    }

    /** A packet of the SSH protocol. */
    public interface Message {
        Buffer create(Session session) throws IOException;
    }

    /** Starts a server at a free port; only {@code root} can log in, with this key. */
    public FakeSshd(String address, String clientKey) throws IOException {
        this.address = address;
        this.clientKey = publicKey(clientKey);
        start();
    }

    public FakeSshd addProgram(String command, Program program) {
        programs.put(command, program);
        return this;
    }

    /** Sets whether it refuses every key. */
    public void refuseKeys(boolean all) {
        refuseKeys = all;
    }

    /** Sets whether it closes each connection when a key is offered. */
    public void closeInLogin(boolean all) {
        closeInLogin = all;
    }

    public String address() {
        return address;
    }

    public int port() {
        return port;
    }

    /** Returns its address for a list of hosts. */
    public String target() {
        return address + ":" + port;
    }

    /** Returns the number of connections since the start. */
    public int connections() {
        return connections.get();
    }

    /** Returns the number of open connections. */
    public int activeConnections() {
        return server.getActiveSessions().size();
    }

    /** Returns the number of commands since the start. */
    public int commands() {
        return commands.get();
    }

    public String hostKey() {
        return PublicKeyEntry.toString(hostKey.getPublic());
    }

    /** Returns its name in known_hosts. */
    public String keyName() {
        return "[%s]:%d".formatted(address, port);
    }

    /** Returns its line of known_hosts. */
    public String knownHostsLine() {
        return keyName() + " " + hostKey() + "\n";
    }

    /** Starts a server with a new key of a client in this file, which offers only the key exchange with ML-KEM. */
    public static FakeSshd withMlKem(Path identity) throws IOException {
        Programs.newKey("ecdsa", identity); // this server knows no Ed25519
        var server = new FakeSshd("127.0.0.1", Files.readString(Path.of(identity + ".pub")));
        server.stop();
        server.keyExchange(new MlKemExchange());
        server.start();
        return server;
    }

    /** Sets the only key exchange that it offers. Takes effect at the next start. */
    public void keyExchange(DHFactory only) {
        keyExchanges = List.of(DHGServer.newFactory(only));
    }

    /** Sets the file with the certificate of the host key. Takes effect at the next start. */
    public void certificate(Path file) {
        certificate = file;
    }

    /** Takes effect at the next start. */
    public void newHostKey() {
        hostKey = newKey();
    }

    /** Starts at the same port each time. */
    public void start() throws IOException {
        server = create(address, port, hostKey, connections, command -> {
            commands.incrementAndGet();
            return programs.getOrDefault(command, (_, _, _) -> 127);
        });
        server.setNioWorkers(1);
        if (!keyExchanges.isEmpty()) {
            server.setKeyExchangeFactories(keyExchanges);
        }
        if (certificate != null) {
            server.setHostKeyCertificateProvider(new FileHostKeyCertificateProvider(certificate));
        }
        server.setPublickeyAuthenticator((name, key, session) -> {
            if (closeInLogin) {
                session.close(true);
            }
            return !refuseKeys && !closeInLogin && name.equals("root") && KeyUtils.compareKeys(key, clientKey);
        });
        server.setForwardingFilter(AcceptAllForwardingFilter.INSTANCE);
        CoreModuleProperties.SOCKET_REUSEADDR.set(server, true);
        server.start();
        port = server.getPort();
    }

    /** Stops the server and closes all connections. */
    public void stop() throws IOException {
        server.stop(true);
    }

    /** Closes the connections without stopping the server. */
    public void cutConnections() {
        server.getActiveSessions().forEach(session -> session.close(true));
    }

    /** Sends a packet on all connections without a request. */
    public void send(Message message) throws IOException {
        for (var session : server.getActiveSessions()) {
            session.writePacket(message.create(session)).verify(TestTimeouts.HANG);
        }
    }

    /** Begins a key exchange on all connections. */
    public void rekey() throws IOException {
        for (var session : server.getActiveSessions()) {
            session.reExchangeKeys().verify(TestTimeouts.HANG);
        }
    }

    @Override
    public void close() throws IOException {
        stop();
    }

    private static PublicKey publicKey(String line) throws IOException {
        try {
            return AuthorizedKeyEntry.parseAuthorizedKeyEntry(line)
                    .resolvePublicKey(null, Map.of(), PublicKeyEntryResolver.FAILING);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    /**
     * Creates a server without starting it.
     *
     * @param port 0 for any free port
     * @param connections counts the connections
     * @param programs runs a command
     */
    static SshServer create(
            String address, int port, KeyPair hostKey, AtomicInteger connections, Function<String, Program> programs) {
        var server = SshServer.setUpDefaultServer();
        server.setHost(address);
        server.setPort(port);
        CoreModuleProperties.TCP_NODELAY.set(server, true); // as in OpenSSH
        server.setKeyPairProvider(KeyPairProvider.wrap(hostKey));
        server.setCommandFactory((_, command) -> new Running(command, programs.apply(command)));
        server.addSessionListener(new SessionListener() {
            @Override
            public void sessionCreated(Session session) {
                connections.incrementAndGet();
            }
        });
        return server;
    }

    static KeyPair newKey() {
        try {
            var generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(256);
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Running extends AbstractCommandSupport {
        private final Program program;

        Running(String command, Program program) {
            super(command, new NoCloseExecutor(Executors.newVirtualThreadPerTaskExecutor()));
            this.program = program;
        }

        @Override
        public void run() {
            try {
                var code = program.run(getInputStream(), getOutputStream(), getErrorStream());
                getOutputStream().flush();
                getErrorStream().flush();
                onExit(code);
            } catch (Exception e) {
                onExit(126, String.valueOf(e));
            }
        }
    }
}
