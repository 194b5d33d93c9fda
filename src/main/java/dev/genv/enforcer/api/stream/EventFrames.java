package dev.genv.enforcer.api.stream;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.format.json.BoundedOutput;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Events in the form of the stream. All readers share one copy of an event, and only events that a reader receives are written as
 * text. So without readers nothing is done.
 */
final class EventFrames {
    /** The largest event: users choose the length of what it shows, and each reader may have one in its buffer. */
    static final int LARGEST = 64 << 10;
    /** Readers that read are at about the same position. */
    static final int MAX_BYTES = 1 << 20;

    /** Why a reader must read the present state again. */
    enum GapReason {
        /** Events after the reader's last one are no longer in memory. */
        NOT_IN_MEMORY,
        /** Another run of the service showed the reader's last event, and the journal does not have everything since. */
        OTHER_RUN,
        /** The event is too large for the stream. */
        TOO_LARGE
    }

    private final UUID stream;
    private final ObjectMapper json;
    private final Map<Long, Buffer> bySequence = new LinkedHashMap<>();
    private int bytes;

    EventFrames(UUID stream, ObjectMapper json) {
        this.stream = stream;
        this.json = json;
    }

    /** Returns an event in the form of the stream. One that is too large is a gap, so that its reader reads the present state. */
    synchronized Buffer of(Event event) {
        var known = bySequence.get(event.sequence());
        if (known != null) {
            return known;
        }
        var frame = write(event);
        bySequence.put(event.sequence(), frame);
        bytes += frame.length();
        var oldest = bySequence.entrySet().iterator();
        while (bytes > MAX_BYTES) {
            bytes -= oldest.next().getValue().length();
            oldest.remove();
        }
        return frame;
    }

    /** Returns the event that has a reader read the present state. */
    Buffer gap(long position, Instant at, GapReason reason) {
        return gap(id(position), at, reason);
    }

    /** Returns the id of a position, which no event follows. The client keeps it for its next connection. */
    Buffer position(long position) {
        return Buffer.buffer("id: %s\n\n".formatted(id(position)));
    }

    /** The estimated memory of the events. */
    synchronized int bytes() {
        return bytes;
    }

    private Buffer write(Event event) {
        var id = id(event.sequence());
        var view = EventView.of(event);
        try {
            var data = new BoundedOutput(LARGEST);
            json.writeValue(data, view);
            return frame(id, view.type(), data.toByteArray());
        } catch (BoundedOutput.FullException e) {
            return gap(id, event.at(), GapReason.TOO_LARGE);
        } catch (IOException e) {
            throw new IllegalStateException("an event cannot be written as JSON", e);
        }
    }

    private Buffer gap(EventId id, Instant at, GapReason reason) {
        try {
            return frame(id, GapView.TYPE, json.writeValueAsBytes(GapView.of(at, reason)));
        } catch (IOException e) {
            throw new IllegalStateException("a gap cannot be written as JSON", e);
        }
    }

    /** The data is one line, because it is JSON without layout. */
    private static Buffer frame(EventId id, String type, byte[] data) {
        return Buffer.buffer(data.length + 128)
                .appendString("id: %s\nevent: %s\ndata: ".formatted(id, type), StandardCharsets.US_ASCII.name())
                .appendBytes(data)
                .appendString("\n\n");
    }

    private EventId id(long sequence) {
        return new EventId(stream, sequence);
    }
}
