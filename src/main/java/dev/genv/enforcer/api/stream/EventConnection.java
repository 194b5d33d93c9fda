package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.connection.ForcedClose;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.event.EventLog.EventSubscription;
import io.netty.channel.Channel;
import io.netty.handler.timeout.IdleStateHandler;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.net.impl.ConnectionBase;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The connection of a client that follows the events. All methods except {@link #close} run on the thread of the connection. */
final class EventConnection {
    /** A client whose network failed keeps its slot for so long. The others connect again. */
    private static final Duration LONGEST = Duration.ofHours(1);

    private final Vertx vertx;
    private final Context context;
    private final Channel channel;
    private final EventReader reader;
    private final Duration heartbeat;
    private Duration age = Duration.ZERO;

    /** What ends with the connection. */
    private record Resources(long timer, EventSubscription subscription, Runnable closed) {}

    /** Takes the connection of a request, which gets no other response. */
    EventConnection(RoutingContext request, EventReader.Source source, Duration heartbeat) {
        this.heartbeat = heartbeat;
        vertx = request.vertx();
        context = vertx.getOrCreateContext();
        channel = channelOf(request);
        reader = new EventReader(source, context, request.response());
    }

    private static Channel channelOf(RoutingContext request) {
        return ((ConnectionBase) request.request().connection()).channel();
    }

    /**
     * Sends events until the connection is closed.
     *
     * @param known the last event that the client knows; null for a client that wants the events from now on
     * @param closed called when the connection is closed
     */
    void open(EventLog log, @Nullable EventId known, Runnable closed) {
        if (channel.pipeline().get(IdleStateHandler.class) != null) {
            channel.pipeline().remove(IdleStateHandler.class); // it would disconnect a client that sends nothing
        }
        var timer = vertx.setPeriodic(heartbeat.toMillis(), _ -> beat());
        var resources = new Resources(timer, log.subscribe(reader::wake), closed);
        channel.closeFuture().addListener(_ -> context.runOnContext(_ -> release(resources)));
        reader.start(known);
    }

    /** Closes the connection soon, also if the client does not read. Any thread may call it. */
    void close() {
        context.runOnContext(_ -> disconnect());
    }

    /** The bytes that wait for the client. */
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

    private void release(Resources resources) {
        reader.end();
        vertx.cancelTimer(resources.timer);
        resources.subscription.close();
        resources.closed.run();
    }
}
