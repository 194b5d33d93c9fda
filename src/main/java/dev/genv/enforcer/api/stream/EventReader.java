package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.connection.ClientConnection;
import dev.genv.enforcer.api.stream.EventFrames.GapReason;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.EventLog;
import io.netty.channel.Channel;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The connection of a client that follows the events. It is only a position in the event log: events are taken from the log when the
 * connection can take more bytes, so no events are queued for it. All methods except {@link #close} and {@link #wake} run on the
 * thread of the connection.
 */
final class EventReader {
    /** No further event is written while more bytes wait for the client. */
    static final int QUEUE_BYTES = 64 << 10;

    /** A client whose network failed keeps its slot for so long. The others connect again. */
    private static final Duration LONGEST = Duration.ofHours(1);
    /** Then the other connections of the thread take their turn. */
    private static final int PAGE = 100;

    private static final Buffer COMMENT = Buffer.buffer(":\n");

    private final Source source;
    private final Context context;
    private final Channel channel;
    private final HttpServerResponse response;
    private final AtomicBoolean isDue = new AtomicBoolean();
    private Duration age = Duration.ZERO;
    private long position;
    private boolean isFull;
    private boolean isEnded;

    /** What a reader reads. */
    record Source(EventLog log, EventFrames frames, Predicate<Event> filter) {}

    /** Takes the connection of a request, which gets no other response. */
    EventReader(RoutingContext request, Source source) {
        this.source = source;
        context = request.vertx().getOrCreateContext();
        channel = ClientConnection.channel(request);
        ClientConnection.removeTimeLimit(request);
        response = request.response();
    }

    /**
     * Sends the events after the last one that the client knows until the connection is closed; null for a client that wants the
     * events from now on.
     */
    void open(@Nullable EventId known, Duration heartbeat, Runnable closed) {
        var timer = context.owner().setPeriodic(heartbeat.toMillis(), _ -> beat(heartbeat));
        var subscription = source.log.subscribe(this::wake);
        channel.closeFuture()
                .addListener(_ -> context.runOnContext(_ -> {
                    end();
                    context.owner().cancelTimer(timer);
                    subscription.close();
                    closed.run();
                }));
        response.setWriteQueueMaxSize(QUEUE_BYTES).drainHandler(_ -> {
            isFull = false;
            wake();
        });
        if (known == null || source.log.isKnown(known.stream(), known.sequence())) {
            position = known == null ? source.log.latest() : known.sequence();
            write(source.frames.position(position));
        } else {
            skip(GapReason.OTHER_RUN);
        }
        send();
    }

    /** Closes the connection soon, also if the client does not read. Any thread may call it. */
    void close() {
        context.runOnContext(_ -> disconnect());
    }

    long queuedBytes() {
        var queue = channel.unsafe().outboundBuffer();
        return queue == null ? 0 : queue.totalPendingWriteBytes();
    }

    /** Sends new events soon. Any thread may call it. */
    private void wake() {
        if (isDue.compareAndSet(false, true)) {
            context.runOnContext(_ -> {
                isDue.set(false); // before the events are read, so that one after them is not missed
                send();
            });
        }
    }

    /**
     * Shows the client and all proxies that the connection is alive. It also passes on the position, which moves with events that
     * the filter leaves out. Disconnects a client that does not read: its buffer was full since the last call.
     */
    private void beat(Duration heartbeat) {
        age = age.plus(heartbeat);
        var isStalled = isFull;
        if (response.writeQueueFull()) {
            isFull = true;
        } else {
            isStalled = false;
            write(COMMENT);
            write(source.frames.position(position));
        }
        if (isStalled || age.compareTo(LONGEST) > 0) {
            disconnect();
        }
    }

    private void disconnect() {
        end();
        ClientConnection.closeAtOnce(channel);
    }

    /** Ends the response if the client can still receive its end. Nothing is written after this. */
    private void end() {
        if (!isEnded) {
            isEnded = true;
            if (!response.closed() && !response.writeQueueFull()) {
                var _ = response.end();
            }
        }
    }

    private void send() {
        if (isEnded || response.writeQueueFull()) {
            return; // the drain handler continues
        }
        var page = source.log.after(position, PAGE);
        if (page.hasGap()) {
            skip(GapReason.NOT_IN_MEMORY);
            return;
        }
        for (var event : page.events()) {
            if (response.writeQueueFull()) {
                return;
            }
            position = event.sequence();
            if (source.filter.test(event)) {
                write(source.frames.of(event));
            }
        }
        if (!page.events().isEmpty()) {
            wake(); // there may be more
        }
    }

    /** The client reads the present state after this, so the events until now are not sent. */
    private void skip(GapReason reason) {
        position = source.log.latest();
        write(source.frames.gap(position, Instant.now(), reason));
    }

    private void write(Buffer bytes) {
        if (!isEnded && !response.closed()) {
            var _ = response.write(bytes);
        }
    }
}
