package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.Host;
import java.util.ArrayList;
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
    private final Function<HostAddress, KeptExchange> ways;
    private final Function<String, Agent> agents;
    private Map<String, Member> members = Map.of();
    private Optional<String> problem = Optional.empty();

    /** A host that is in the list. */
    private record Member(HostAddress address, KeptExchange way, RemoteHost host) {
        void close() {
            way.close();
        }
    }

    /**
     * Prepares it; nothing is connected yet.
     *
     * @param file where further hosts are named; null where there is none
     * @param ways the way to a host
     * @param agents what looks at the host of a name and acts on it
     */
    public RemoteFleet(
            List<HostAddress> fixed,
            @Nullable HostFile file,
            Function<HostAddress, KeptExchange> ways,
            Function<String, Agent> agents) {
        this.fixed = List.copyOf(fixed);
        this.file = file;
        this.ways = ways;
        this.agents = agents;
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
        var way = ways.apply(address);
        var name = address.toString();
        return new Member(address, way, new RemoteHost(name, way, agents.apply(name)));
    }
}
