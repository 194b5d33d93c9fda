package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Journal.Restored;
import java.io.IOException;
import java.util.List;
import org.jboss.logging.Logger;

/** Reads what earlier runs left: first the last segment, which contains everything that actions depend on, and then the events. */
final class JournalReading {
    private static final Logger LOG = Logger.getLogger(JournalReading.class);

    private final JournalDirectory directory;
    private final JournalDirectory eventDirectory;
    private final JournalConfig config;
    private final StateReplay state;
    private long damaged;

    /**
     * What a journal contains.
     *
     * @param segments the segments of the state, oldest first
     * @param events the segments of the events, oldest first
     */
    record Content(Restored restored, List<Segment> segments, List<Segment> events) {}

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
        var lastComplete = memory.map(last -> last.cycle().lastEvent());
        var reading = new EventReading(eventDirectory, lastComplete.orElse(Long.MAX_VALUE));
        damaged += reading.damaged();
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
                reading.count(), reading.segments().size(), config.directory());
        var events = reading.takeEvents();
        var restored = new Restored(
                memory,
                state.actions(config.processes()),
                reading.takeResolved(events),
                events,
                Math.max(reading.lastSequence(), lastComplete.orElse(0L)),
                state.lastIntent());
        return new Content(restored, segments, reading.segments());
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
}
