package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.connection.ClientAddress;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.api.connection.ForcedClose;
import dev.genv.enforcer.enforcement.record.EventLog;
import io.netty.channel.Channel;
import io.netty.handler.timeout.IdleStateHandler;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.net.impl.ConnectionBase;
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
     * Lets a client follow the events after the last one that it knows; null for the events from now on. Returns whether there
     * was a slot for it; if not, nothing was sent.
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

    int count() {
        return open.size();
    }

    long refused() {
        return slots.refused();
    }

    /** The connection of a client that follows the events. All methods except {@link #close} run on the thread of the connection. */
    static final class EventConnection {
        /** A client whose network failed keeps its slot for so long. The others connect again. */
        private static final Duration LONGEST = Duration.ofHours(1);

        private final Vertx vertx;
        private final Context context;
        private final Channel channel;
        private final EventReader reader;
        private final Duration heartbeat;
        private Duration age = Duration.ZERO;

        /** Takes the connection of a request, which gets no other response. */
        EventConnection(RoutingContext request, EventReader.Source source, Duration heartbeat) {
            this.heartbeat = heartbeat;
            vertx = request.vertx();
            context = vertx.getOrCreateContext();
            channel = ((ConnectionBase) request.request().connection()).channel();
            reader = new EventReader(source, context, request.response());
        }

        /** Sends the events after the one that the client knows until the connection is closed. */
        void open(EventLog log, @Nullable EventId known, Runnable closed) {
            if (channel.pipeline().get(IdleStateHandler.class) != null) {
                channel.pipeline().remove(IdleStateHandler.class); // it would disconnect a client that sends nothing
            }
            var timer = vertx.setPeriodic(heartbeat.toMillis(), _ -> beat());
            var subscription = log.subscribe(reader::wake);
            channel.closeFuture()
                    .addListener(_ -> context.runOnContext(_ -> {
                        reader.end();
                        vertx.cancelTimer(timer);
                        subscription.close();
                        closed.run();
                    }));
            reader.start(known);
        }

        /** Closes the connection soon, also if the client does not read. Any thread may call it. */
        void close() {
            context.runOnContext(_ -> disconnect());
        }

        long queuedBytes() {
            var queue = channel.unsafe().outboundBuffer();
            return queue == null ? 0 : queue.totalPendingWriteBytes();
        }

        private void beat() {
            age = age.plus(heartbeat);
            if (!reader.beat() || age.compareTo(LONGEST) > 0) {
                disconnect();
            }
        }

        private void disconnect() {
            reader.end();
            ForcedClose.close(channel);
        }
    }
}
