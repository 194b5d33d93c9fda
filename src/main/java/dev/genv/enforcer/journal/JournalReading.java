package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.event.Event;
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
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Reads what earlier runs left: first the last segment, which contains everything that actions depend on, and then the events. */
final class JournalReading {
    private static final Logger LOG = Logger.getLogger(JournalReading.class);

    private final JournalDirectory directory;
    private final JournalConfig config;
    private final List<Segment> found;
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

    JournalReading(JournalDirectory directory, JournalConfig config) throws IOException {
        this.directory = directory;
        this.config = config;
        found = directory.segments();
        state = new StateReplay(config.kinds());
    }

    /** Reads the last segment, without the events. */
    Restored readMemory() throws IOException {
        if (!found.isEmpty()) {
            forEachLine(found.getLast(), line -> {
                if (line.content().isPresent()) {
                    state.add(line.content().get());
                } else if (line.isComplete()) {
                    state.addDamage();
                }
            });
        }
        return restored(List.of());
    }

    /** Reads the events of all segments after {@link #readMemory}. Damaged lines are left out and counted in the log. */
    Content readAll() throws IOException {
        for (var segment : found) {
            segments.add(segment.begunAt(readEvents(segment)));
        }
        if (damaged > 0) {
            LOG.warnf(
                    "%d lines of the journal in %s are damaged and left out; a service that is killed leaves one such line",
                    damaged, config.directory());
        }
        var events = tail.events();
        var restored = restored(events);
        if (restored.memory()
                .filter(last -> last.scope() == Restored.Scope.WITHOUT_STATE_HISTORY)
                .isPresent()) {
            LOG.warnf(
                    "The journal in %s is damaged after its last checkpoint: grace periods begin again",
                    config.directory());
        }
        LOG.infof(
                "Read %d events from %d segments of the journal in %s",
                tail.count(), segments.size(), config.directory());
        return new Content(restored, segments, lastLineIsTorn);
    }

    private Restored restored(List<Event> events) {
        return new Restored(
                state.memory(config.processes()),
                state.actions(config.processes()),
                tail.resolved(events),
                events,
                tail.lastSequence(),
                state.lastIntent());
    }

    /** Reads the events of a segment, and returns when it was begun. */
    private @Nullable Instant readEvents(Segment segment) throws IOException {
        var begun = new AtomicReference<@Nullable Instant>();
        forEachLine(segment, line -> {
            lastLineIsTorn = !line.isComplete();
            line.content()
                    .ifPresentOrElse(
                            content -> {
                                begun.compareAndSet(null, begun(content));
                                addEvent(content);
                            },
                            () -> damaged++);
        });
        tail.rollBack();
        return begun.get();
    }

    private void forEachLine(Segment segment, Consumer<LineReader.Line> consumer) throws IOException {
        var file = directory.openToRead(segment);
        try {
            var lines = new LineReader(file);
            for (var line = lines.next(); line != null; line = lines.next()) {
                consumer.accept(line);
            }
        } finally {
            FileCalls.close(file);
        }
    }

    private void addEvent(JournalLine line) {
        switch (line.type()) {
            case LineTypes.CYCLE -> tail.commit();
            case LineTypes.CHECKPOINT -> tail.rollBack();
            default -> {
                if (LineTypes.isEvent(line.type())) {
                    tail.add(line);
                }
            }
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
