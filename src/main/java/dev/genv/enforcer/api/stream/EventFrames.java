package dev.genv.enforcer.api.stream;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.view.HostView.ProblemView;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.api.view.ViolationView.ActionView;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.genv.BoundedOutput;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
        /** The reader's last event has a number of another run of the service, and the database does not have everything since. */
        OTHER_RUN,
        /** The event is too large for the stream. */
        TOO_LARGE
    }

    private final EventLog log;
    private final ObjectMapper json;
    private final Map<Long, Buffer> bySequence = new LinkedHashMap<>();
    private int bytes;

    EventFrames(EventLog log, ObjectMapper json) {
        this.log = log;
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
        try {
            var view = new GapView("gap", at, reason.name().toLowerCase(Locale.ROOT));
            return frame(position, view.type(), json.writeValueAsBytes(view));
        } catch (IOException e) {
            throw new IllegalStateException("a gap cannot be written as JSON", e);
        }
    }

    /** Returns the id of a position, which no event follows. The client keeps it for its next connection. */
    Buffer position(long position) {
        return Buffer.buffer("id: %s\n\n".formatted(EventId.at(log, position)));
    }

    synchronized int bytes() {
        return bytes;
    }

    private Buffer write(Event event) {
        var view = EventView.of(event);
        try {
            var data = new BoundedOutput(LARGEST);
            json.writeValue(data, view);
            return frame(event.sequence(), view.type(), data.toByteArray());
        } catch (BoundedOutput.FullException e) {
            return gap(event.sequence(), event.at(), GapReason.TOO_LARGE);
        } catch (IOException e) {
            throw new IllegalStateException("an event cannot be written as JSON", e);
        }
    }

    /** The data is one line, because it is JSON without layout. */
    private Buffer frame(long position, String type, byte[] data) {
        return Buffer.buffer(data.length + 128)
                .appendString("id: %s\nevent: %s\ndata: ".formatted(EventId.at(log, position), type))
                .appendBytes(data)
                .appendString("\n\n");
    }

    /** The data of the event {@code gap}: the client must read the present state again. */
    public record GapView(String type, Instant at, String reason) {}

    /** The data of an event; only the fields of its type are present. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record EventView(
            String type,
            Instant at,
            @Nullable ViolationView violation,
            @Nullable ActionView action,
            @Nullable String host,
            @Nullable ProblemView problem,
            @Nullable List<String> changes,
            @Nullable String version,
            @Nullable String mode) {

        static EventView of(Event event) {
            var type = event.content().type();
            var at = event.at();
            return switch (event.content()) {
                case EventContent.ActionRecorded(var violation, var action) ->
                    ofViolation(type, at, violation, ActionView.of(action));
                case EventContent.OfViolation its -> ofViolation(type, at, its.violation(), null);
                case EventContent.OfProblem its ->
                    new EventView(type, at, null, null, its.host(), ProblemView.of(its.problem()), null, null, null);
                case EventContent.PolicyChanged(var changes) ->
                    new EventView(type, at, null, null, null, null, changes, null, null);
                case EventContent.ServiceStarted(var version, var mode) ->
                    new EventView(type, at, null, null, null, null, null, version, mode);
            };
        }

        private static EventView ofViolation(
                String type, Instant at, ViolationRecord violation, @Nullable ActionView action) {
            return new EventView(type, at, ViolationView.of(violation), action, null, null, null, null, null);
        }
    }
}
