package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.Host;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** The machines of the list, as hosts. A connection lasts as long as its host is in the list. */
public final class RemoteFleet implements Supplier<List<Host>>, AutoCloseable {
    private static final Logger LOG = Logger.getLogger(RemoteFleet.class);

    private final List<HostAddress> fixed;
    private final @Nullable HostFile file;
    private final SshAccess access;
    private final Function<String, Agent> agents;
    private Map<String, Member> members = Map.of();
    private Optional<String> problem = Optional.empty();

    /** A host that is in the list. */
    private record Member(HostAddress address, Connection connection, RemoteHost host) {
        void close() {
            connection.close();
        }
    }

    /** What is said on the hosts. */
    public enum Protocol {
        /** Our own script. */
        SHELL,
        /** genv's own. */
        GENV
    }

    /**
     * Prepares it; nothing is connected yet.
     *
     * @param hostFile where further hosts are named; null where there is none
     * @throws IllegalArgumentException where a file that is named cannot be used, with the reason
     */
    public RemoteFleet(
            List<HostAddress> fixed, @Nullable Path hostFile, SshSettings ssh, Protocol protocol, Terms terms) {
        this.fixed = List.copyOf(fixed);
        this.file = hostFile == null ? null : new HostFile(hostFile);
        this.access = new SshAccess(ssh);
        var random = new SecureRandom();
        var service = HexFormat.of().toHexDigits(random.nextLong());
        this.agents = name -> switch (protocol) {
            case SHELL ->
                new ShellAgent(name, terms, service, new Shell(terms, Shell.Places.USUAL, random), System::nanoTime);
            case GENV -> new GenvAgent(name, terms);
        };
    }

    /**
     * Tries whether the files that are named can be used.
     *
     * @throws IllegalArgumentException where one cannot, with the reason
     */
    public static void check(SshSettings ssh) {
        new SshAccess(ssh);
    }

    /** The hosts that there are at this moment, each name once. */
    @Override
    public synchronized List<Host> get() {
        var now = new LinkedHashMap<String, Member>();
        for (var address : addresses()) {
            var name = address.toString();
            var known = members.get(name);
            now.putIfAbsent(name, known != null && known.address.equals(address) ? known : member(address));
        }
        var before = members;
        members = now;
        before.values().stream()
                .filter(member -> !member.equals(now.get(member.address.toString())))
                .forEach(Member::close);
        return now.values().stream().<Host>map(Member::host).toList();
    }

    @Override
    public synchronized void close() {
        members.values().forEach(Member::close);
        members = Map.of();
    }

    private List<HostAddress> addresses() {
        var all = new ArrayList<>(fixed);
        if (file != null) {
            all.addAll(file.current());
            tell(file.problem());
        }
        return all;
    }

    /** Once, when it comes, and once when it is over. */
    private void tell(Optional<String> now) {
        if (!now.equals(problem)) {
            now.ifPresentOrElse(LOG::error, () -> LOG.info("The file of the hosts can be used again"));
            problem = now;
        }
    }

    private Member member(HostAddress address) {
        var connection = access.connection(address);
        var name = address.toString();
        return new Member(address, connection, new RemoteHost(name, connection, agents.apply(name)));
    }
}
