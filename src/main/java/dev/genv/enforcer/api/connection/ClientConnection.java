package dev.genv.enforcer.api.connection;

import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.net.impl.ConnectionBase;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of a client. It is closed if no complete request head arrives in time, regardless of how many bytes arrive. */
public final class ClientConnection {
    /** Also the time limit of an idle connection. */
    static final Duration HEAD_TIMEOUT = Duration.ofSeconds(10);

    private static final AttributeKey<ClientConnection> KEY =
            AttributeKey.valueOf(ClientConnection.class, "connection");

    private final Channel channel;
    private final Object address;
    private final ScheduledExecutorService timer;
    private int requests;
    private boolean closed;
    private @Nullable Future<?> timeout;

    /** Creates a connection, whose address is the key that all connections of one client share; the timer runs the time limit. */
    ClientConnection(Channel channel, Object address, ScheduledExecutorService timer) {
        this.channel = channel;
        this.address = address;
        this.timer = timer;
        channel.attr(KEY).set(this);
        awaitHead();
    }

    public static Channel channel(RoutingContext request) {
        return ((ConnectionBase) request.request().connection()).channel();
    }

    /** Returns the key of the client that sent a request. */
    public static Object address(RoutingContext request) {
        return address(channel(request));
    }

    /**
     * Returns a key that all connections from an address share. All clients behind a proxy have the address of the proxy: a header
     * that names the client is not used, because every client can send it. A client on the same machine can choose any loopback
     * address, so all of them count as one.
     */
    static Object address(Channel channel) {
        if (!(channel.remoteAddress() instanceof InetSocketAddress inet)) {
            return "unknown";
        }
        return inet.getAddress().isLoopbackAddress() ? "loopback" : inet.getAddress();
    }

    /**
     * Closes a connection at once, also if the client does not read: the close of Vert.x waits until everything has been sent. Any
     * thread may call it.
     */
    public static void closeAtOnce(Channel channel) {
        // From the first handler on, there is none that could delay it.
        var _ = Objects.requireNonNull(channel.pipeline().firstContext()).close();
    }

    Object address() {
        return address;
    }

    /** Records that a complete request head arrived. */
    synchronized void beginRequest() {
        requests++;
        stopTimeout();
    }

    /** Records that the whole response was written. */
    synchronized void endRequest() {
        requests--;
        awaitHead();
    }

    synchronized boolean isIdle() {
        return requests == 0;
    }

    void close() {
        closeAtOnce(channel);
    }

    /** Releases all resources. */
    synchronized void forget() {
        closed = true;
        stopTimeout();
    }

    private synchronized void awaitHead() {
        if (requests == 0 && !closed) {
            timeout = timer.schedule(this::close, HEAD_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    private void stopTimeout() {
        if (timeout != null) {
            timeout.cancel(false);
        }
    }

    /** Records for each connection of both ports when a request begins and when it is answered. */
    @Singleton
    public static class OpenRequests {
        /** Runs before all handlers that may answer. */
        private static final int FIRST = 3000;

        void register(@Observes Filters filters) {
            filters.register(OpenRequests::track, FIRST);
        }

        void register(@Observes ManagementInterface management) {
            management.router().route().order(-FIRST).handler(OpenRequests::track);
        }

        private static void track(RoutingContext request) {
            var channel = channel(request);
            if (!channel.isWritable()) {
                // A client that does not read its responses gets no further one, which would need memory.
                closeAtOnce(channel);
                return;
            }
            var connection = channel.attr(KEY).get();
            if (connection != null) { // a port without a limit has none
                connection.beginRequest();
                request.addEndHandler(_ -> connection.endRequest());
            }
            request.next();
        }
    }
}
