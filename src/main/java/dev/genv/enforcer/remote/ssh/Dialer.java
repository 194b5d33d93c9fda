package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.Session;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** Logs in on hosts. One for the fleet, used by many threads. */
final class Dialer {
    private static final Duration LONGEST_TURN = Duration.ofSeconds(1);
    private static final int MOST_AT_ONCE =
            Math.max(64, 32 * Runtime.getRuntime().availableProcessors());

    @SuppressWarnings("JdkObsolete") // JSch wants one
    private static final Hashtable<String, String> TERMS = new Hashtable<>(Map.ofEntries(
            Map.entry("StrictHostKeyChecking", "yes"),
            Map.entry("HashKnownHosts", "no"),
            Map.entry("prefer_known_host_key_types", "yes"),
            Map.entry("PreferredAuthentications", "publickey"),
            Map.entry("enable_auth_none", "no"),
            Map.entry("ClearAllForwardings", "yes"),
            Map.entry("compression.s2c", "none"),
            Map.entry("compression.c2s", "none"),
            // As often as the server likes: none of those that take a tenth of a second here, and nothing there.
            Map.entry(
                    "kex",
                    "mlkem768x25519-sha256,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,"
                            + "ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group14-sha256"),
            // Otherwise each connection tries out a key pair of every kind that it offers.
            Map.entry("CheckKexes", "")));

    private final JSch jsch = new JSch();
    private final KeyFiles keyFiles;
    private final Lookup lookup;
    private final Duration timeout;
    private final Turns turns = new Turns(MOST_AT_ONCE, LONGEST_TURN);

    Dialer(KeyFiles keyFiles, Lookup lookup, Duration timeout) {
        this.keyFiles = keyFiles;
        this.lookup = lookup;
        this.timeout = timeout;
    }

    /**
     * Logs in on the last hop, by way of those before.
     *
     * @param begin by when it is to begin, from when on it has all of its time
     * @throws TimeoutException where too many others were connected to until then
     * @throws UnreachableException where that fails, or is not done in time
     */
    Link connect(List<Hop> hops, Deadline begin) throws UnreachableException, TimeoutException, InterruptedException {
        try (var _ = turns.take(begin)) {
            return connect(hops);
        }
    }

    private Link connect(List<Hop> hops) throws UnreachableException, InterruptedException {
        var lifeline = new Lifeline();
        var deadline = Deadline.in(timeout);
        try {
            return Attempt.within(timeout, () -> open(hops, lifeline, deadline), lifeline::cut);
        } catch (TimeoutException e) {
            var words = "no connection within " + timeout.toMillis() + " ms: " + lifeline.stage();
            throw new UnreachableException(ProblemCode.CONNECT_TIMEOUT, words, e);
        } catch (ExecutionException e) {
            lifeline.cut();
            if (e.getCause() instanceof UnreachableException failure) {
                throw failure;
            }
            throw new UnreachableException(ProblemCode.SSH_FAILED, "SSH with it failed: " + e.getCause(), e);
        }
    }

    private Link open(List<Hop> hops, Lifeline lifeline, Deadline deadline) throws UnreachableException {
        var sessions = new ArrayList<Session>();
        var chatter = new Chatter(lifeline, hops.size());
        for (var hop : hops) {
            try {
                sessions.add(open(hop, sessions, lifeline, new DirectSockets(lookup, lifeline, chatter, deadline)));
            } catch (UnreachableException e) {
                if (hop.equals(hops.getLast())) {
                    throw e;
                }
                throw new UnreachableException(e.code(), "on the way, at " + hop.name() + ": " + e.getMessage(), e);
            }
        }
        return new Link(sessions.getLast(), lifeline, chatter);
    }

    private Session open(Hop hop, List<Session> before, Lifeline lifeline, DirectSockets sockets)
            throws UnreachableException {
        var known = knownKeys(hop);
        Session session = null;
        try {
            session = jsch.getSession(hop.user(), hop.host(), hop.port());
            session.setConfig(TERMS);
            session.setHostKeyRepository(known);
            session.setHostKeyAlias(hop.keyAlias());
            session.setIdentityRepository(keyFiles.identities(hop.identities()));
            session.setThreadFactory(new OneThread(lifeline));
            session.setSocketFactory(sockets);
            if (!before.isEmpty()) {
                session.setProxy(new JumpProxy(before.getLast(), lifeline));
            }
            session.connect(sockets.deadline().millis());
            // Whoever has something to send waits for new keys that long: without a limit for ever, whatever is closed.
            session.setTimeout(Math.clamp(timeout.toMillis(), 1, Integer.MAX_VALUE));
            sockets.readWithoutLimit();
            HandshakeBuffer.shrink(session);
            return session;
        } catch (JSchException | RuntimeException e) {
            throw new Failures(jsch, hop, known).of(e, session == null ? null : session.getHostKey());
        } catch (IOException e) {
            throw Failures.login(String.valueOf(e.getMessage()), e);
        }
    }

    private KeyRing knownKeys(Hop hop) throws UnreachableException {
        try {
            return keyFiles.knownHosts(hop.knownHosts());
        } catch (IOException e) {
            throw new UnreachableException(
                    ProblemCode.HOST_KEY_UNKNOWN, "its key cannot be compared: " + e.getMessage(), e);
        }
    }
}
