package dev.genv.enforcer.api.connection;

import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of a client. It is closed where no whole head of a request comes in time, however many bytes of it come. */
final class ClientConnection {
    /** Also how long a connection is kept that nobody uses. */
    static final Duration HEAD_TIMEOUT = Duration.ofSeconds(10);

    private static final AttributeKey<ClientConnection> KEY =
            AttributeKey.valueOf(ClientConnection.class, "connection");

    private final Channel channel;
    private final Object address;
    private final ScheduledExecutorService timer;
    private int requests;
    private boolean closed;
    private @Nullable Future<?> timeout;

    /**
     * A new one.
     *
     * @param address what the connections of one client have in common
     * @param timer calls after a while
     */
    ClientConnection(Channel channel, Object address, ScheduledExecutorService timer) {
        this.channel = channel;
        this.address = address;
        this.timer = timer;
        channel.attr(KEY).set(this);
        awaitHead();
    }

    /** That of this channel; null where its port has no limit. */
    static @Nullable ClientConnection of(Channel channel) {
        return channel.attr(KEY).get();
    }

    Object address() {
        return address;
    }

    /** A whole head has come. */
    synchronized void beginRequest() {
        requests++;
        stopTimeout();
    }

    /** All of the answer has been written. */
    synchronized void endRequest() {
        requests--;
        awaitHead();
    }

    synchronized boolean isIdle() {
        return requests == 0;
    }

    void close() {
        var _ = channel.close();
    }

    /** Keeps nothing of it any more. */
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
