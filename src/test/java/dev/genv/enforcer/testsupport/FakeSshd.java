package dev.genv.enforcer.testsupport;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.sshd.common.config.keys.AuthorizedKeyEntry;
import org.apache.sshd.common.config.keys.KeyUtils;
import org.apache.sshd.common.config.keys.PublicKeyEntry;
import org.apache.sshd.common.config.keys.PublicKeyEntryResolver;
import org.apache.sshd.common.keyprovider.KeyPairProvider;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.session.SessionListener;
import org.apache.sshd.common.util.buffer.Buffer;
import org.apache.sshd.core.CoreModuleProperties;
import org.apache.sshd.server.Environment;
import org.apache.sshd.server.ExitCallback;
import org.apache.sshd.server.SshServer;
import org.apache.sshd.server.channel.ChannelSession;
import org.apache.sshd.server.command.Command;
import org.apache.sshd.server.forward.AcceptAllForwardingFilter;

/** An SSH server within the test, whose commands do what the test says. */
public final class FakeSshd implements Closeable {
    private static final Logger LOG = Logger.getLogger("org.apache.sshd"); // held, or its level would be forgotten

    static {
        LOG.setLevel(Level.SEVERE);
    }

    private final Map<String, Program> programs = new ConcurrentHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger commands = new AtomicInteger();
    private final String address;
    private final PublicKey clientKey;
    private volatile boolean refuses;
    private volatile String user = "root";
    private KeyPair hostKey = newKey();
    private int port;
    private SshServer server;

    /** What a command does, with the streams of its channel; its value is the exit code. */
    public interface Program {
        int run(InputStream in, OutputStream out, OutputStream errors) throws Exception;
    }

    /** A packet of the SSH protocol. */
    public interface Message {
        Buffer in(Session session);
    }

    /** Started, at a free port; only {@code root} can log in, with that key. */
    public FakeSshd(String address, String clientKey) throws IOException {
        this.address = address;
        this.clientKey = publicKey(clientKey);
        start();
    }

    public FakeSshd program(String command, Program program) {
        programs.put(command, program);
        return this;
    }

    public FakeSshd user(String name) {
        user = name;
        return this;
    }

    /** Whether it refuses every key from now on. */
    public void refuses(boolean all) {
        refuses = all;
    }

    public String address() {
        return address;
    }

    public int port() {
        return port;
    }

    /** As a list of hosts has it. */
    public String target() {
        return address + ":" + port;
    }

    /** How many connections there have been. */
    public int connections() {
        return connections.get();
    }

    /** How many are there now. */
    public int connected() {
        return server.getActiveSessions().size();
    }

    /** How many commands were begun. */
    public int commands() {
        return commands.get();
    }

    public String hostKey() {
        return PublicKeyEntry.toString(hostKey.getPublic());
    }

    /** As known_hosts calls it. */
    public String keyName() {
        return "[%s]:%d".formatted(address, port);
    }

    /** A line of known_hosts. */
    public String known() {
        return keyName() + " " + hostKey() + "\n";
    }

    /** From the next start on. */
    public void newHostKey() {
        hostKey = newKey();
    }

    /** At the same port each time. */
    public void start() throws IOException {
        server = SshServer.setUpDefaultServer();
        server.setHost(address);
        server.setPort(port);
        server.setNioWorkers(1);
        CoreModuleProperties.TCP_NODELAY.set(server, true);
        server.setKeyPairProvider(KeyPairProvider.wrap(hostKey));
        server.setPublickeyAuthenticator(
                (name, key, _) -> !refuses && name.equals(user) && KeyUtils.compareKeys(key, clientKey));
        server.setCommandFactory((_, command) -> new Running(command));
        server.setForwardingFilter(AcceptAllForwardingFilter.INSTANCE);
        CoreModuleProperties.SOCKET_REUSEADDR.set(server, true);
        server.addSessionListener(new SessionListener() {
            @Override
            public void sessionCreated(Session session) {
                connections.incrementAndGet();
            }
        });
        server.start();
        port = server.getPort();
    }

    /** Ends it and all connections, in the middle of whatever they do. */
    public void stop() throws IOException {
        server.stop(true);
    }

    /** Ends the connections, but not the server. */
    public void cut() {
        server.getActiveSessions().forEach(session -> session.close(true));
    }

    /** Says something of its own accord to all who are connected. */
    public void say(Message message) throws IOException {
        for (var session : server.getActiveSessions()) {
            session.writePacket(message.in(session)).verify(Duration.ofSeconds(20));
        }
    }

    /** Begins to agree on new keys with all who are connected. */
    public void rekey() throws IOException {
        for (var session : server.getActiveSessions()) {
            session.reExchangeKeys().verify(Duration.ofSeconds(20));
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

    private static KeyPair newKey() {
        try {
            var generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private final class Running implements Command {
        private final String command;
        private InputStream in;
        private OutputStream out;
        private OutputStream errors;
        private ExitCallback exit;
        private volatile Thread thread;

        Running(String command) {
            this.command = command;
        }

        @Override
        public void start(ChannelSession channel, Environment environment) {
            commands.incrementAndGet();
            thread = Thread.ofVirtual().unstarted(this::run);
            thread.start();
        }

        private void run() {
            try {
                var program = programs.getOrDefault(command, (_, _, _) -> 127);
                var code = program.run(in, out, errors);
                out.flush();
                errors.flush();
                exit.onExit(code);
            } catch (Exception e) {
                exit.onExit(126, String.valueOf(e));
            }
        }

        @Override
        public void destroy(ChannelSession channel) {
            thread.interrupt();
        }

        @Override
        public void setInputStream(InputStream stream) {
            in = stream;
        }

        @Override
        public void setOutputStream(OutputStream stream) {
            out = stream;
        }

        @Override
        public void setErrorStream(OutputStream stream) {
            errors = stream;
        }

        @Override
        public void setExitCallback(ExitCallback callback) {
            exit = callback;
        }
    }
}
