package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.connection.ClientAddress;
import dev.genv.enforcer.api.connection.ClientSlots;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The clients that follow the events. */
final class EventReaders {
    /** Each takes a connection and at most the bytes of its buffer and of one event. */
    static final int MAX_READERS = 64;
    /** A large share, because all clients behind a proxy have the same address. */
    static final int MAX_OF_AN_ADDRESS = 32;
    /** Less than the usual time limits of proxies. */
    static final Duration HEARTBEAT = Duration.ofSeconds(15);

    private final Duration heartbeat;
    private final ClientSlots slots;
    private final Set<EventConnection> open = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    EventReaders(Duration heartbeat, ClientSlots slots) {
        this.heartbeat = heartbeat;
        this.slots = slots;
    }

    /**
     * Lets a client follow the events.
     *
     * @param known the last event that the client knows; null for a client that wants the events from now on
     * @return whether there was a slot for it; if not, nothing was sent
     */
    boolean add(RoutingContext request, EventReader.Source source, @Nullable EventId known) {
        var address = ClientAddress.of(request);
        if (stopped || !slots.take(address)) {
            return false;
        }
        var connection = new EventConnection(request, source, heartbeat);
        open.add(connection);
        connection.open(source.log(), known, () -> {
            open.remove(connection);
            slots.release(address);
        });
        if (stopped) {
            connection.close();
        }
        return true;
    }

    /** Disconnects all clients, and admits no further one. */
    void stop() {
        stopped = true;
        open.forEach(EventConnection::close);
    }

    /** The bytes that wait for the client for which most are waiting. */
    long largestQueue() {
        return open.stream().mapToLong(EventConnection::queuedBytes).max().orElse(0);
    }

    /** The number of clients. */
    int count() {
        return open.size();
    }

    /** The number of clients for which there was no slot. */
    long refused() {
        return slots.refused();
    }
}
