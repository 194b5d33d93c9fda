package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** The latest events of a journal, as many as fit into the memory of the service. They are parsed at the end only. */
final class EventTail {
    private final BoundedLines latest = new BoundedLines(EventLog.MAX_EVENTS, EventLog.MAX_BYTES);
    private final BoundedLines resolved =
            new BoundedLines(ViolationLimits.MAX_RESOLVED, ViolationLimits.MAX_RESOLVED_BYTES);
    private long last;
    private long count;

    /** The latest lines, bounded in number and bytes. */
    private static final class BoundedLines {
        private final int most;
        private final long maxBytes;
        private final Deque<JournalLine> lines = new ArrayDeque<>();
        private long bytes;

        BoundedLines(int most, long maxBytes) {
            this.most = most;
            this.maxBytes = maxBytes;
        }

        void add(JournalLine line) {
            lines.add(line);
            bytes += line.json().length;
            while (lines.size() > most || bytes > maxBytes) {
                bytes -= lines.remove().json().length;
            }
        }
    }

    /** Adds an event. One whose write was not known to be complete may be there twice, and counts once. */
    void add(JournalLine event, long sequence) {
        if (sequence > last) {
            last = sequence;
            count++;
            latest.add(event);
            if (LineTypes.isAboutResolved(event)) {
                resolved.add(event);
            }
        }
    }

    /** The number of events that were read. */
    long count() {
        return count;
    }

    /** Returns the latest events once, oldest first. */
    List<Event> takeEvents() {
        return takeParsed(latest).toList();
    }

    /** Returns the latest resolved violations once, oldest first. A process may have exited after its violation was resolved. */
    List<ViolationRecord> takeResolved(List<Event> latestEvents) {
        var byId = new LinkedHashMap<String, ViolationRecord>();
        takeParsed(resolved).forEach(event -> {
            if (event.content() instanceof EventContent.ViolationResolved(var violation)) {
                byId.put(violation.id(), violation);
            }
        });
        for (var event : latestEvents) {
            if (event.content() instanceof EventContent.ActionRecorded(var violation, var _) && !violation.active()) {
                byId.computeIfPresent(violation.id(), (_, _) -> violation);
            }
        }
        return List.copyOf(byId.values());
    }

    /** The position of the last event; 0 if there is none. */
    long lastSequence() {
        return last;
    }

    /** Parses and removes the lines, so that they are not in memory together with all events. */
    private static Stream<Event> takeParsed(BoundedLines lines) {
        return Stream.generate(lines.lines::poll)
                .takeWhile(Objects::nonNull)
                .flatMap(line -> LineTypes.event(line).stream());
    }
}
