package dev.genv.enforcer.testsupport;

import java.io.Closeable;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.PublicKey;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.sshd.common.config.keys.AuthorizedKeyEntry;
import org.apache.sshd.common.config.keys.KeyUtils;
import org.apache.sshd.common.config.keys.PublicKeyEntry;
import org.apache.sshd.common.config.keys.PublicKeyEntryResolver;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.session.SessionListener;
import org.apache.sshd.common.util.buffer.Buffer;
import org.apache.sshd.core.CoreModuleProperties;
import org.apache.sshd.server.SshServer;
import org.apache.sshd.server.forward.AcceptAllForwardingFilter;

/** An SSH server within the test, whose commands do what the test says. */
public final class FakeSshd implements Closeable {
    private final Map<String, Program> programs = new ConcurrentHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger commands = new AtomicInteger();
    private final String address;
    private final PublicKey clientKey;
    private volatile boolean refuseKeys;
    private volatile String user = "root";
    private KeyPair hostKey = MinaServer.newKey();
    private int port;
    private SshServer server;

    /** What a command does, with the streams of its channel; its value is the exit code. */
    public interface Program extends MinaServer.Program {}

    /** A packet of the SSH protocol. */
    public interface Message {
        Buffer create(Session session) throws IOException;
    }

    /** Started, at a free port; only {@code root} can log in, with that key. */
    public FakeSshd(String address, String clientKey) throws IOException {
        this.address = address;
        this.clientKey = publicKey(clientKey);
        start();
    }

    public FakeSshd addProgram(String command, Program program) {
        programs.put(command, program);
        return this;
    }

    public FakeSshd setUser(String name) {
        user = name;
        return this;
    }

    /** Whether it refuses every key from now on. */
    public void refuseKeys(boolean all) {
        refuseKeys = all;
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
    public int activeConnections() {
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
    public String knownHostsLine() {
        return keyName() + " " + hostKey() + "\n";
    }

    /** From the next start on. */
    public void newHostKey() {
        hostKey = MinaServer.newKey();
    }

    /** At the same port each time. */
    public void start() throws IOException {
        server = MinaServer.at(address, port, hostKey, this::startCommand);
        server.setNioWorkers(1);
        server.setPublickeyAuthenticator(
                (name, key, _) -> !refuseKeys && name.equals(user) && KeyUtils.compareKeys(key, clientKey));
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
    public void cutConnections() {
        server.getActiveSessions().forEach(session -> session.close(true));
    }

    /** Says something of its own accord to all who are connected. */
    public void send(Message message) throws IOException {
        for (var session : server.getActiveSessions()) {
            session.writePacket(message.create(session)).verify(TestTimeouts.HANG);
        }
    }

    /** Begins to agree on new keys with all who are connected. */
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

    private Program startCommand(String command) {
        commands.incrementAndGet();
        return programs.getOrDefault(command, (_, _, _) -> 127);
    }
}
