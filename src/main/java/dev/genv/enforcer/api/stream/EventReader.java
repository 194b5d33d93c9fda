package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.stream.EventFrames.GapReason;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A client that follows the events. It is only a position in the event log: events are taken from the log when the connection can take
 * more bytes, so no events are queued for it. All methods except {@link #wake} run on the thread of the connection.
 */
final class EventReader {
    /** No further event is written while more bytes wait for the client. */
    static final int QUEUE_BYTES = 64 << 10;

    /** Then the other connections of the thread take their turn. */
    private static final int PAGE = 100;

    private static final Buffer HEARTBEAT = Buffer.buffer(":\n");

    private final Source source;
    private final Context context;
    private final HttpServerResponse response;
    private final AtomicBoolean isDue = new AtomicBoolean();
    private long position;
    private boolean isFull;
    private boolean isEnded;

    /** What a reader reads. */
    record Source(EventLog log, EventFrames frames, Predicate<Event> filter) {}

    EventReader(Source source, Context context, HttpServerResponse response) {
        this.source = source;
        this.context = context;
        this.response = response;
    }

    /** Begins after the last event that the client knows; null for a client that wants the events from now on. */
    void start(@Nullable EventId known) {
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

    /** Sends new events soon. Any thread may call it. */
    void wake() {
        if (isDue.compareAndSet(false, true)) {
            context.runOnContext(_ -> {
                isDue.set(false); // before the events are read, so that one after them is not missed
                send();
            });
        }
    }

    /**
     * Shows the client and all proxies that the connection is alive. It also passes on the position, which moves with events that
     * the filter leaves out. Returns whether the client reads; if not, its buffer was full since the last call.
     */
    boolean beat() {
        if (!response.writeQueueFull()) {
            write(HEARTBEAT);
            write(source.frames.position(position));
            return true;
        }
        var wasFull = isFull;
        isFull = true;
        return !wasFull;
    }

    /** Ends the response if the client can still receive its end. Nothing is written after this. */
    void end() {
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
