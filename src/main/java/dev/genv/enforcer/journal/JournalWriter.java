package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.SavedState;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes to an open journal: first the events of a cycle, and then its state. Only the last segment of the state matters, because each
 * begins with a checkpoint. Only the thread of the journal uses it.
 */
final class JournalWriter implements AutoCloseable {
    /** How long the history of the state is left out after it was too large. */
    private static final Duration LEFT_OUT = Duration.ofHours(1);

    private final JournalConfig config;
    private final SegmentSeries segments;
    private final SegmentSeries events;
    /** The outcomes since the last cycle. The state of the next one may contain their intents as open. */
    private final List<ActionIntent.Outcome> outcomes = new ArrayList<>();

    private boolean isSynced = true;
    /** Where the last checkpoint ends. */
    private long checkpointEnd;
    /** The state on the disk; null if it is not known, so that the next cycle must write all of it. */
    private @Nullable CycleCommit written;

    private boolean hasHistory;
    private long lastEvent;

    JournalWriter(
            JournalConfig config,
            JournalDirectory directory,
            JournalDirectory eventDirectory,
            JournalReading.Content content) {
        this.config = config;
        segments = new SegmentSeries(directory, config.limits().half(), content.segments());
        events = new SegmentSeries(eventDirectory, config.limits().half(), content.events());
        lastEvent = content.restored().lastSequence();
    }

    /** Adds intents to what {@link #flush} writes. */
    void begin(List<ActionIntent> intents) throws IOException {
        for (var intent : intents) {
            add(
                    LineTypes.INTENT,
                    new LineTypes.IntentLine(intent.key(), intent.at(), intent.planned(), config.processes()));
        }
    }

    /** Adds an outcome to what {@link #flush} writes. */
    void end(ActionIntent.Outcome outcome) throws IOException {
        outcomes.add(outcome);
        add(LineTypes.OUTCOME, outcome);
    }

    private void add(String type, Object fields) throws IOException {
        open().add(LineTypes.encode(type, fields));
        isSynced = false;
    }

    /** Whether the next run will find what is written here. */
    boolean isInPlace() {
        return segments.isInPlace() && events.isInPlace();
    }

    /** Writes the events of a cycle, and adds its state. */
    void commit(CycleCommit cycle) throws IOException {
        if (!isInPlace()) {
            throw new IOException(JournalException.DISPLACED);
        }
        var current = segments.current();
        append(cycle.cycle().at(), cycle.events());
        if (current == null
                || written == null
                || isCheckpointDue(current, cycle)
                || !addChanges(current, written, cycle)) {
            beginSegment(cycle);
        }
        written = cycle;
        outcomes.clear();
    }

    /** Writes those of the events that are not written yet. They are on the disk when it returns. */
    private void append(Instant at, List<Event> all) throws IOException {
        var unwritten =
                all.stream().filter(event -> event.sequence() > lastEvent).toList();
        if (!unwritten.isEmpty()) {
            events.append(at, file -> {
                for (var event : unwritten) {
                    file.add(LineTypes.encode(event));
                }
            });
            events.sync();
            lastEvent = unwritten.getLast().sequence();
        }
    }

    /** Waits until what was added is on the disk. */
    void flush() throws IOException {
        var current = segments.current();
        if (current != null && !isSynced) {
            current.flush();
            current.sync();
            isSynced = true;
        }
    }

    /** Drops what was not written. The next cycle writes the whole state, into a new segment. */
    void recover(IOException cause) {
        events.recover(cause);
        outcomes.clear();
        written = null;
        isSynced = true;
        segments.recover(cause);
    }

    /** Releases the journal for other services. */
    @Override
    public void close() throws IOException {
        try {
            events.close();
        } finally {
            segments.close();
        }
    }

    /** Actions may be executed before the first cycle is complete. They are added to the last segment, or to a first one. */
    private SegmentFile open() throws IOException {
        var last = segments.openLast();
        var now = Instant.now();
        return last != null ? last : segments.begin(now, first -> first.add(checkpointLine(now)));
    }

    private boolean isCheckpointDue(SegmentFile file, CycleCommit cycle) {
        var begun = segments.begun();
        return file.size() - checkpointEnd >= config.largestGrowth()
                || (!hasHistory
                        && begun != null
                        && Duration.between(begun, cycle.cycle().at()).compareTo(LEFT_OUT) > 0);
    }

    /** Returns false if the changes are so large that a checkpoint must take their place. */
    private boolean addChanges(SegmentFile file, CycleCommit before, CycleCommit cycle) throws IOException {
        file.flush();
        isSynced = false;
        var end = checkpointEnd + config.largestGrowth();
        if (!addUpTo(end, file, LineTypes.changes(before.state(), cycle.state()))
                || !addUpTo(end, file, LineTypes.changes(before.violations(), cycle.violations()))
                || (hasHistory && !addUpTo(end, file, LineTypes.changes(before.history(), cycle.history())))) {
            return false;
        }
        file.add(LineTypes.encode(LineTypes.CYCLE, cycle.cycle()));
        return true;
    }

    private void beginSegment(CycleCommit cycle) throws IOException {
        checkpointEnd = segments.begin(cycle.cycle().at(), first -> addCheckpoint(first, cycle))
                .size();
        isSynced = true;
        segments.removeEarlier();
    }

    private void addCheckpoint(SegmentFile file, CycleCommit cycle) throws IOException {
        file.add(checkpointLine(cycle.cycle().at()));
        for (var outcome : outcomes) {
            file.add(LineTypes.encode(LineTypes.OUTCOME, outcome));
        }
        addUpTo(Long.MAX_VALUE, file, LineTypes.changes(SavedState.EMPTY, cycle.state()));
        var end = config.largestCheckpoint();
        // A violation that is left out appears anew in the next run.
        hasHistory = addUpTo(end, file, LineTypes.changes(SavedState.EMPTY, cycle.violations()))
                && addUpTo(end, file, LineTypes.changes(SavedState.EMPTY, cycle.history()));
        if (!hasHistory) {
            file.add(LineTypes.encode(LineTypes.WITHOUT_HISTORY, Map.of()));
        }
        file.add(LineTypes.encode(LineTypes.CYCLE, cycle.cycle()));
    }

    /** Returns false if the segment has reached its end before the last one of the lines. */
    private static boolean addUpTo(long end, SegmentFile file, Stream<byte[]> lines) throws IOException {
        for (var line : (Iterable<byte[]>) lines::iterator) {
            if (file.size() + line.length > end) {
                return false;
            }
            file.add(line);
        }
        return true;
    }

    private byte[] checkpointLine(Instant at) {
        return LineTypes.encode(LineTypes.CHECKPOINT, new LineTypes.Checkpoint(at, config.processes()));
    }
}
