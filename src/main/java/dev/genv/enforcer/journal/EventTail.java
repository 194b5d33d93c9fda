package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.event.EventContent;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.journal.line.JournalLine;
import dev.genv.enforcer.journal.line.LineTypes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The latest events of a journal, as many as fit into the memory of the service. They are parsed at the end only. */
final class EventTail {
    private final BoundedLines latest = new BoundedLines(EventLog.MAX_EVENTS, EventLog.MAX_BYTES);
    private final BoundedLines resolved =
            new BoundedLines(ViolationLimits.MAX_RESOLVED, ViolationLimits.MAX_RESOLVED_BYTES);
    private final List<JournalLine> uncommitted = new ArrayList<>();
    private @Nullable JournalLine last;
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

    /** Adds an event, which is valid once its cycle is complete. */
    void add(JournalLine event) {
        uncommitted.add(event);
        last = event;
        count++;
    }

    /** Records that a cycle is complete. */
    void commit() {
        for (var event : uncommitted) {
            latest.add(event);
            if (LineTypes.isAboutResolved(event)) {
                resolved.add(event);
            }
        }
        uncommitted.clear();
    }

    /** Drops the events of a cycle that is not complete. */
    void rollBack() {
        uncommitted.clear();
    }

    /** The number of events that were read. */
    long count() {
        return count;
    }

    /** Returns the latest events, oldest first. */
    List<Event> events() {
        return parse(latest).toList();
    }

    /** Returns the latest resolved violations, oldest first. A process may have exited after its violation was resolved. */
    List<ViolationRecord> resolved(List<Event> latestEvents) {
        var byId = new LinkedHashMap<String, ViolationRecord>();
        parse(resolved).forEach(event -> {
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

    /** The position of the last event, complete or not; 0 if there is none. */
    long lastSequence() {
        return last == null ? 0 : LineTypes.event(last).map(Event::sequence).orElse(0L);
    }

    private static Stream<Event> parse(BoundedLines lines) {
        return lines.lines.stream().flatMap(line -> LineTypes.event(line).stream());
    }
}
