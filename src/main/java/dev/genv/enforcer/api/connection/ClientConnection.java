package dev.genv.enforcer.api.connection;

import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of a client. It is closed if no complete request head arrives in time, regardless of how many bytes arrive. */
final class ClientConnection {
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

    /** Returns the connection of a channel; null if its port has no limit. */
    static @Nullable ClientConnection of(Channel channel) {
        return channel.attr(KEY).get();
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
        ForcedClose.close(channel);
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
}
