package dev.genv.enforcer.api.connection;

import dev.genv.enforcer.api.security.AccessFilter;
import dev.genv.enforcer.api.security.HttpErrors;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.net.impl.ConnectionBase;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A connection of a client. It is closed if no complete request head arrives in time, regardless of how many bytes arrive, if the
 * kernel has not taken over the whole response in time, and if the client sends many requests before it reads their responses:
 * Vert.x keeps all of them in memory.
 */
public final class ClientConnection extends ChannelDuplexHandler {
    /** Also the time limit of an idle connection. */
    static final Duration HEAD_TIMEOUT = Duration.ofSeconds(10);

    /**
     * The time limit of every response but a stream of events: for the request body, for computing, and for reading all but the last
     * bytes, which the kernel keeps. The requests of a connection are answered one after the other.
     */
    static final Duration RESPONSE_TIMEOUT = Duration.ofMinutes(1);

    static final int MAX_PENDING_REQUESTS = 8;

    private final Channel channel;
    /** The key that all connections of one client share. */
    final Object address;

    private final ResponseBudget budget;
    private final ScheduledExecutorService timer;
    private int requests;
    private boolean isUnlimited;
    private @Nullable Future<?> timeout;

    /** Creates a connection whose responses the budget counts; the timer runs the time limit. */
    ClientConnection(Channel channel, Object address, ResponseBudget budget, ScheduledExecutorService timer) {
        this.channel = channel;
        this.address = address;
        this.budget = budget;
        this.timer = timer;
        channel.pipeline().addFirst(new CodecWaiter());
        limit(HEAD_TIMEOUT);
    }

    public static Channel channel(RoutingContext request) {
        return ((ConnectionBase) request.request().connection()).channel();
    }

    /**
     * Returns a key that all clients with the address of this request share. It is that of the proxy, unless the settings
     * {@code quarkus.http.proxy} name proxies that pass on the address of the client.
     */
    public static Object address(RoutingContext request) {
        var remote = request.request().remoteAddress();
        var literal = remote.hostAddress();
        return literal == null ? String.valueOf(remote.host()) : key(InetAddress.ofLiteral(literal));
    }

    /** Returns a key that all connections from an address share. */
    static Object address(Channel channel) {
        return channel.remoteAddress() instanceof InetSocketAddress inet ? key(inet.getAddress()) : "unknown";
    }

    /** A client on the same machine can choose any loopback address, so all of them count as one. */
    private static Object key(InetAddress address) {
        return address.isLoopbackAddress() ? "loopback" : address;
    }

    /**
     * Closes a connection at once, also if the client does not read: the close of Vert.x waits until everything has been sent. The kernel
     * drops what it could not send yet, because it counts that memory for the container. Any thread may call it.
     */
    public static void closeAtOnce(Channel channel) {
        if (!channel.eventLoop().inEventLoop()) {
            channel.eventLoop().execute(() -> closeAtOnce(channel));
        } else if (channel.isOpen()) {
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            // From the first handler on, there is none that could delay it.
            var _ = Objects.requireNonNull(channel.pipeline().firstContext()).close();
        }
    }

    /** Lets the response to this request take any time. */
    public static void removeTimeLimit(RoutingContext request) {
        var connection = channel(request).pipeline().get(ClientConnection.class);
        if (connection != null) {
            connection.forget();
        }
    }

    /** Records that a complete request head arrived. */
    synchronized void beginRequest() {
        requests++;
        if (requests == 1) {
            limit(RESPONSE_TIMEOUT);
        }
    }

    /** Records that the kernel has taken over the whole response. */
    synchronized void endRequest() {
        requests--;
        limit(requests == 0 ? HEAD_TIMEOUT : RESPONSE_TIMEOUT);
    }

    private synchronized boolean isAboveLimit() {
        return requests > MAX_PENDING_REQUESTS;
    }

    synchronized boolean isIdle() {
        return requests == 0;
    }

    void end() {
        closeAtOnce(channel);
    }

    /** Ends all time limits. */
    synchronized void forget() {
        isUnlimited = true;
        stopTimeout();
    }

    private synchronized void limit(Duration time) {
        stopTimeout();
        if (!isUnlimited) {
            timeout = timer.schedule(this::end, time.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    private void stopTimeout() {
        if (timeout != null) {
            timeout.cancel(false);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpRequest request) {
            beginRequest();
            request.headers().remove(HttpHeaderNames.UPGRADE); // an upgrade to HTTP/2, which would have no limit
        }
        if (isAboveLimit()) {
            ReferenceCountUtil.release(message);
            var _ = context.close();
            return;
        }
        context.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        var interim =
                message instanceof HttpResponse response && response.status().equals(HttpResponseStatus.CONTINUE);
        var isLast = message instanceof LastHttpContent && !interim;
        var bytes = message instanceof ByteBufHolder holder ? holder.content().readableBytes() : 0;
        if (bytes == 0 && !isLast) {
            var _ = context.write(message, promise);
            return;
        }
        budget.add(address, bytes);
        var written = promise.unvoid();
        written.addListener(_ -> {
            budget.add(address, -bytes);
            if (isLast) {
                endRequest();
            }
        });
        var _ = context.write(message, written);
    }

    /**
     * Waits for the codec. A port that supports HTTP/2 adds it when the first bytes are not those of HTTP/2, so these bytes are passed
     * on one by one. A connection with HTTP/2 is closed, because it would have no limit. With TLS it waits behind the handshake.
     */
    private final class CodecWaiter extends ChannelInboundHandlerAdapter {
        private static final int HTTP2_PREFACE = 24;

        private int passed;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            var bytes = (ByteBuf) message;
            var pipeline = context.pipeline();
            var tls = pipeline.context(SslHandler.class);
            if (tls != null && context.equals(pipeline.firstContext())) {
                pipeline.addAfter(tls.name(), null, new CodecWaiter());
                context.fireChannelRead(bytes);
                pipeline.remove(this);
                return;
            }
            while (pipeline.get(HttpResponseEncoder.class) == null && bytes.isReadable()) {
                passed++;
                if (passed >= HTTP2_PREFACE) {
                    bytes.release();
                    var _ = context.close();
                    return;
                }
                context.fireChannelRead(bytes.readRetainedSlice(1));
            }
            var encoder = pipeline.context(HttpResponseEncoder.class);
            if (encoder == null) {
                bytes.release();
                return;
            }
            pipeline.addAfter(encoder.name(), null, ClientConnection.this);
            context.fireChannelRead(bytes);
            pipeline.remove(this);
        }
    }

    /**
     * Refuses, on both ports, requests whose responses might need too much memory: further ones of a client that does not read its
     * responses, and all but those for health while the budget is used up.
     */
    @Singleton
    public static class UnreadResponseFilter {
        /** Runs before all handlers that may answer. */
        private static final int FIRST = 3000;

        void register(@Observes Filters filters) {
            filters.register(request -> check(request, ResponseBudget.OF_SERVICE), FIRST);
        }

        void register(@Observes ManagementInterface management) {
            management.router().route().order(-FIRST).handler(request -> check(request, ResponseBudget.OF_SERVICE));
        }

        static void check(RoutingContext request, ResponseBudget budget) {
            var channel = channel(request);
            if (!channel.isWritable()) {
                closeAtOnce(channel);
            } else if (budget.isUsedUp(address(channel)) && !AccessFilter.isHealth(request)) {
                HttpErrors.send(request, 503, "clients have not read their responses; try again soon");
            } else {
                request.next();
            }
        }
    }
}
