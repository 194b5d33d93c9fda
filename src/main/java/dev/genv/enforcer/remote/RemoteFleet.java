package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.host.Host;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The machines of the host list. A connection stays open as long as its machine is in the list. */
public final class RemoteFleet implements Supplier<List<Host>>, AutoCloseable {
    private final List<HostAddress> fixed;
    private final @Nullable HostFile file;
    private final Function<HostAddress, Connection> connections;
    private final BiFunction<String, Connection, Host> hosts;
    private Map<String, Machine> members = Map.of();

    /** A machine of the list. */
    private record Machine(HostAddress address, Connection connection, Host host) {}

    /**
     * Creates the fleet without connecting.
     *
     * @param file a file with more machines; null for none
     * @param connections creates the connection to a machine
     * @param hosts creates a machine of the fleet by its name and its connection
     */
    public RemoteFleet(
            List<HostAddress> fixed,
            @Nullable HostFile file,
            Function<HostAddress, Connection> connections,
            BiFunction<String, Connection, Host> hosts) {
        this.fixed = List.copyOf(fixed);
        this.file = file;
        this.connections = connections;
        this.hosts = hosts;
    }

    /** Returns the machines of the current list, each name once. */
    @Override
    public synchronized List<Host> get() {
        var now = new LinkedHashMap<String, Machine>();
        for (var address : addresses()) {
            var name = address.toString();
            var known = members.get(name);
            now.putIfAbsent(name, known != null && known.address.equals(address) ? known : member(address));
        }
        var before = members;
        members = now;
        before.values().stream()
                .filter(member -> !member.equals(now.get(member.address.toString())))
                .forEach(member -> member.connection.close());
        return now.values().stream().map(Machine::host).toList();
    }

    @Override
    public synchronized void close() {
        members.values().forEach(member -> member.connection.close());
        members = Map.of();
    }

    private List<HostAddress> addresses() {
        var all = new ArrayList<>(fixed);
        if (file != null) {
            all.addAll(file.current());
        }
        return all;
    }

    private Machine member(HostAddress address) {
        var connection = connections.apply(address);
        return new Machine(address, connection, hosts.apply(address.toString(), connection));
    }
}
