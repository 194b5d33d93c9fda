package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/**
 * Reads what earlier runs left: first the last segment, which contains everything that actions depend on, and then the events.
 * Of these it keeps the latest ones, as many as fit into the memory of the service. It cuts off those of a cycle that did not
 * come to its end, because their positions are used again.
 */
final class JournalReading {
    private static final Logger LOG = Logger.getLogger(JournalReading.class);

    /** How many resolved violations are read back, as many as the registry keeps. */
    private static final int MAX_RESOLVED = 10_000;

    private static final long MAX_RESOLVED_BYTES = 16L << 20;

    private final JournalDirectory directory;
    private final JournalDirectory eventDirectory;
    private final JournalConfig config;
    private final StateReplay state;
    private final BoundedLines latest = new BoundedLines(EventLog.MAX_EVENTS, EventLog.MAX_BYTES);
    private final BoundedLines resolved = new BoundedLines(MAX_RESOLVED, MAX_RESOLVED_BYTES);
    private final List<Segment> eventSegments = new ArrayList<>();
    private long lastEvent;
    private long count;
    private long damaged;
    /** Whether the events of a cycle that is not complete were found. */
    private boolean isCut;
    /** The position of the last event of the last complete cycle. */
    private long lastComplete = Long.MAX_VALUE;

    /**
     * What a journal contains.
     *
     * @param segments the segments of the state, oldest first
     * @param events the segments of the events, oldest first
     */
    record Content(Restored restored, List<Segment> segments, List<Segment> events) {}

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

    JournalReading(JournalDirectory directory, JournalDirectory eventDirectory, JournalConfig config) {
        this.directory = directory;
        this.eventDirectory = eventDirectory;
        this.config = config;
        state = new StateReplay(config.kinds());
    }

    /** Reads everything. Damaged lines are left out and counted in the log. */
    Content read() throws IOException {
        var segments = directory.segments();
        if (!segments.isEmpty()) {
            readState(segments.getLast());
        }
        var memory = state.memory(config.processes());
        memory.ifPresent(last -> lastComplete = last.cycle().lastEvent());
        for (var segment : eventDirectory.segments()) {
            if (isCut) {
                eventDirectory.remove(segment);
            } else {
                readEvents(segment);
            }
        }
        if (damaged > 0) {
            LOG.warnf(
                    "%d lines of the journal in %s are damaged and left out; a service that is killed leaves one such"
                            + " line",
                    damaged, config.directory());
        }
        if (memory.filter(last -> last.scope() == Restored.Scope.WITHOUT_STATE_HISTORY)
                .isPresent()) {
            LOG.warnf(
                    "The journal in %s lacks a part of the history of genv's state: grace periods begin again",
                    config.directory());
        }
        LOG.infof(
                "Read %d events from %d segments of the journal in %s",
                count, eventSegments.size(), config.directory());
        var events = latest.takeParsed().toList();
        var restored = new Restored(
                memory,
                state.actions(config.processes()),
                takeResolved(events),
                events,
                Math.max(lastEvent, memory.isPresent() ? lastComplete : 0),
                state.lastIntent());
        return new Content(restored, segments, eventSegments);
    }

    private void readState(Segment segment) throws IOException {
        try (var lines = directory.openToRead(segment)) {
            for (var line = lines.next(); line != null; line = lines.next()) {
                if (line.content().isPresent()) {
                    state.add(line.content().get());
                } else {
                    damaged++;
                    if (line.isComplete()) {
                        state.addDamage();
                    }
                }
            }
        }
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

    private void readEvents(Segment segment) throws IOException {
        var end = readComplete(segment);
        if (isCut) {
            try (var file = eventDirectory.openToAppend(segment)) {
                file.truncate(end);
            }
        }
        eventSegments.add(segment.with(isCut ? end : segment.bytes())
                .begunAt(RecordedSegments.begin(eventDirectory, segment).orElse(null)));
    }

    /** Returns where the events of complete cycles end. */
    private long readComplete(Segment segment) throws IOException {
        try (var lines = eventDirectory.openToRead(segment)) {
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
        if (sequence > lastEvent) {
            lastEvent = sequence;
            count++;
            latest.add(line);
            if (line.type().equals(LineTypes.RESOLVED)) {
                resolved.add(line);
            }
        }
        return true;
    }
}
