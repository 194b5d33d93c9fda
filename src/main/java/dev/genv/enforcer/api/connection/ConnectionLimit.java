package dev.genv.enforcer.api.connection;

import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The open connections of one port. A new one is always admitted. Above the limit of its address or of all, the oldest connection
 * without a request in progress is closed, or else the oldest one.
 */
final class ConnectionLimit {
    private final int total;
    private final int perAddress;
    /** Ordered from the oldest. */
    private final Set<ClientConnection> open = new LinkedHashSet<>();

    ConnectionLimit(int total, int perAddress) {
        this.total = total;
        this.perAddress = perAddress;
    }

    /** Adds a connection, and returns the connection that must be closed for it. */
    synchronized Optional<ClientConnection> admit(ClientConnection connection) {
        var victim = victim(each -> each.address().equals(connection.address()), perAddress)
                .or(() -> victim(_ -> true, total));
        victim.ifPresent(open::remove);
        open.add(connection);
        return victim;
    }

    synchronized void remove(ClientConnection connection) {
        open.remove(connection);
    }

    private Optional<ClientConnection> victim(Predicate<ClientConnection> counted, int most) {
        var connections = open.stream().filter(counted).toList();
        if (connections.size() < most) {
            return Optional.empty();
        }
        return connections.stream()
                .filter(ClientConnection::isIdle)
                .findFirst()
                .or(() -> Optional.of(connections.getFirst()));
    }
}
