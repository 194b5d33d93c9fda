package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.journal.Restored;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.journal.line.JournalLine;
import dev.genv.enforcer.journal.line.LineReader;
import dev.genv.enforcer.journal.line.LineTypes;
import dev.genv.enforcer.journal.line.RecordJson;
import dev.genv.enforcer.journal.segment.JournalDirectory;
import dev.genv.enforcer.journal.segment.Segment;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Reads what earlier runs left. */
final class JournalReading {
    private static final Logger LOG = Logger.getLogger(JournalReading.class);

    private final JournalConfig config;
    private final EventTail tail = new EventTail();
    private final StateReplay state;
    private final List<Segment> segments = new ArrayList<>();
    private long damaged;
    private boolean lastLineIsTorn;

    /**
     * What a journal contains.
     *
     * @param segments its segments, oldest first
     * @param lastLineIsTorn whether the last segment does not end with a whole line
     */
    record Content(Restored restored, List<Segment> segments, boolean lastLineIsTorn) {}

    private JournalReading(JournalConfig config) {
        this.config = config;
        state = new StateReplay(config.kinds());
    }

    /** Reads all segments. Damaged lines are left out and counted in the log. */
    static Content read(JournalDirectory directory, JournalConfig config) throws IOException {
        return new JournalReading(config).read(directory);
    }

    private Content read(JournalDirectory directory) throws IOException {
        var found = directory.segments();
        for (var segment : found) {
            segments.add(segment.begunAt(read(directory, segment, segment.equals(found.getLast()))));
        }
        if (damaged > 0) {
            LOG.warnf(
                    "%d lines of the journal in %s are damaged and left out; a service that is killed leaves one such line",
                    damaged, config.directory());
        }
        var events = tail.events();
        var memory = state.memory(config.processes());
        if (memory.filter(last -> last.scope() == Restored.Scope.WITHOUT_STATE_HISTORY)
                .isPresent()) {
            LOG.warnf(
                    "The journal in %s is damaged after its last checkpoint: grace periods begin again",
                    config.directory());
        }
        var restored = new Restored(
                memory,
                state.actions(config.processes()),
                tail.resolved(events),
                events,
                tail.lastSequence(),
                state.lastIntent());
        LOG.infof(
                "Read %d events from %d segments of the journal in %s",
                tail.count(), segments.size(), config.directory());
        return new Content(restored, segments, lastLineIsTorn);
    }

    /** Reads a segment, and returns when it was begun. */
    private @Nullable Instant read(JournalDirectory directory, Segment segment, boolean isLast) throws IOException {
        var file = directory.openToRead(segment);
        try {
            Instant begun = null;
            var lines = new LineReader(file);
            for (var line = lines.next(); line != null; line = lines.next()) {
                lastLineIsTorn = !line.isComplete();
                if (line.content().isPresent()) {
                    var content = line.content().get();
                    begun = begun == null ? begun(content) : begun;
                    add(content, isLast);
                } else {
                    damaged++;
                    if (line.isComplete()) {
                        state.addDamage();
                    }
                }
            }
            tail.rollBack();
            return begun;
        } finally {
            FileCalls.close(file);
        }
    }

    private void add(JournalLine line, boolean isLast) {
        if (LineTypes.isEvent(line.type())) {
            tail.add(line);
            return;
        }
        switch (line.type()) {
            case LineTypes.CYCLE -> tail.commit();
            case LineTypes.CHECKPOINT -> tail.rollBack();
            default -> {}
        }
        if (isLast) {
            state.add(line); // each segment begins with a checkpoint
        }
    }

    private static @Nullable Instant begun(JournalLine line) {
        return line.type().equals(LineTypes.CHECKPOINT)
                ? RecordJson.read(line.json(), LineTypes.Checkpoint.class)
                        .map(LineTypes.Checkpoint::at)
                        .orElse(null)
                : null;
    }
}
