package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.linux.FileCalls;
import java.io.IOException;
import java.util.List;
import org.jboss.logging.Logger;

/** Reads what earlier runs left: first the last segment, which contains everything that actions depend on, and then the events. */
final class JournalReading {
    private static final Logger LOG = Logger.getLogger(JournalReading.class);

    private final JournalDirectory directory;
    private final JournalConfig config;
    private final StateReplay state;
    private final List<Segment> segments;
    private long damaged;
    private boolean lastLineIsTorn;

    /**
     * What a journal contains.
     *
     * @param segments the segments of the state, oldest first
     * @param lastLineIsTorn whether the last one of them does not end with a whole line
     * @param events the segments of the events, oldest first
     */
    record Content(Restored restored, List<Segment> segments, boolean lastLineIsTorn, List<Segment> events) {}

    JournalReading(JournalDirectory directory, JournalConfig config) throws IOException {
        this.directory = directory;
        this.config = config;
        segments = directory.segments();
        state = new StateReplay(config.kinds());
    }

    /** Reads everything. Damaged lines are left out and counted in the log. */
    Content read(JournalDirectory eventDirectory) throws IOException {
        if (!segments.isEmpty()) {
            readState(segments.getLast());
        }
        var lastComplete = state.memory(config.processes())
                .map(memory -> memory.cycle().lastEvent())
                .orElse(Long.MAX_VALUE);
        var reading = new EventReading(eventDirectory, lastComplete);
        reading.read();
        damaged += reading.damaged();
        if (damaged > 0) {
            LOG.warnf(
                    "%d lines of the journal in %s are damaged and left out; a service that is killed leaves one such"
                            + " line",
                    damaged, config.directory());
        }
        var restored = restored(reading.tail());
        if (restored.memory()
                .filter(last -> last.scope() == Restored.Scope.WITHOUT_STATE_HISTORY)
                .isPresent()) {
            LOG.warnf(
                    "The journal in %s lacks a part of the history of genv's state: grace periods begin again",
                    config.directory());
        }
        LOG.infof(
                "Read %d events from %d segments of the journal in %s",
                reading.tail().count(), reading.segments().size(), config.directory());
        return new Content(restored, segments, lastLineIsTorn, reading.segments());
    }

    private Restored restored(EventTail tail) {
        var memory = state.memory(config.processes());
        var events = tail.takeEvents();
        var lastComplete = memory.map(last -> last.cycle().lastEvent()).orElse(0L);
        return new Restored(
                memory,
                state.actions(config.processes()),
                tail.takeResolved(events),
                events,
                Math.max(tail.lastSequence(), lastComplete),
                state.lastIntent());
    }

    private void readState(Segment segment) throws IOException {
        var file = directory.openToRead(segment);
        try {
            var lines = new LineReader(file);
            for (var line = lines.next(); line != null; line = lines.next()) {
                lastLineIsTorn = !line.isComplete();
                if (line.content().isPresent()) {
                    state.add(line.content().get());
                } else {
                    damaged++;
                    if (line.isComplete()) {
                        state.addDamage();
                    }
                }
            }
        } finally {
            FileCalls.close(file);
        }
    }
}
