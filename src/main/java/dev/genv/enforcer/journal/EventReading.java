package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Reads the events of earlier runs, and keeps the latest ones, as many as fit into the memory of the service. It cuts off those of a
 * cycle that did not come to its end, because their positions are used again.
 */
final class EventReading {
    /** How many resolved violations are read back, as many as the registry keeps. */
    private static final int MAX_RESOLVED = 10_000;

    private static final long MAX_RESOLVED_BYTES = 16L << 20;

    private final JournalDirectory directory;
    private final long lastComplete;
    private final BoundedLines latest = new BoundedLines(EventLog.MAX_EVENTS, EventLog.MAX_BYTES);
    private final BoundedLines resolved = new BoundedLines(MAX_RESOLVED, MAX_RESOLVED_BYTES);
    private final List<Segment> segments = new ArrayList<>();
    private long last;
    private long count;
    private long damaged;
    private boolean isCut;

    /** The latest lines, bounded in number and bytes. They are parsed at the end only. */
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

        /** Parses and removes the lines, so that they are not in memory together with all events. */
        Stream<Event> takeParsed() {
            return Stream.generate(lines::poll)
                    .takeWhile(Objects::nonNull)
                    .flatMap(line -> LineTypes.event(line).stream());
        }
    }

    /**
     * Reads all segments. Damaged lines are left out and counted.
     *
     * @param lastComplete the position of the last event of the last complete cycle
     */
    EventReading(JournalDirectory directory, long lastComplete) throws IOException {
        this.directory = directory;
        this.lastComplete = lastComplete;
        for (var segment : directory.segments()) {
            if (isCut) {
                directory.remove(segment);
            } else {
                read(segment);
            }
        }
    }

    /** The segments that are left, oldest first. */
    List<Segment> segments() {
        return segments;
    }

    /** The number of damaged lines. */
    long damaged() {
        return damaged;
    }

    /** The number of events that were read. */
    long count() {
        return count;
    }

    /** The position of the last event; 0 if there is none. */
    long lastSequence() {
        return last;
    }

    /** Returns the latest events once, oldest first. */
    List<Event> takeEvents() {
        return latest.takeParsed().toList();
    }

    /** Returns the latest resolved violations once, oldest first. A process may have exited after its violation was resolved. */
    List<ViolationRecord> takeResolved(List<Event> latestEvents) {
        var byId = new LinkedHashMap<String, ViolationRecord>();
        resolved.takeParsed().forEach(event -> {
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

    private void read(Segment segment) throws IOException {
        var end = readComplete(segment);
        if (isCut) {
            try (var file = directory.openToAppend(segment)) {
                file.truncate(end);
            }
        }
        segments.add(segment.with(isCut ? end : segment.bytes())
                .begunAt(RecordedSegments.begin(directory, segment).orElse(null)));
    }

    /** Returns where the events of complete cycles end. */
    private long readComplete(Segment segment) throws IOException {
        try (var lines = directory.openToRead(segment)) {
            var end = 0L;
            for (var line = lines.next(); line != null; line = lines.next()) {
                if (line.content().isEmpty()) {
                    damaged++;
                } else if (!add(line.content().get())) {
                    isCut = true;
                    break;
                }
                end = lines.position();
            }
            return end;
        }
    }

    /** Returns false if the event is of a cycle that is not complete. One that was written twice counts once. */
    private boolean add(JournalLine line) {
        var sequence = LineTypes.sequence(line).orElse(0);
        if (sequence > lastComplete) {
            return false;
        }
        if (sequence > last) {
            last = sequence;
            count++;
            latest.add(line);
            if (line.type().equals(LineTypes.RESOLVED)) {
                resolved.add(line);
            }
        }
        return true;
    }
}
