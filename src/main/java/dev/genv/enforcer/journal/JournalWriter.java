package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.SavedState;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
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
    private final JournalDirectory directory;
    private final EventWriter events;
    private final Deque<Segment> segments;
    /** The outcomes since the last cycle. The state of the next one may contain their intents as open. */
    private final List<ActionIntent.Outcome> outcomes = new ArrayList<>();

    private @Nullable SegmentFile current;
    private boolean isSynced = true;
    /** Where the last checkpoint ends. */
    private long checkpointEnd;
    /** The state on the disk; null if it is not known, so that the next cycle must write all of it. */
    private @Nullable CycleCommit written;

    private boolean hasHistory;

    JournalWriter(
            JournalConfig config,
            JournalDirectory directory,
            JournalDirectory eventDirectory,
            JournalReading.Content content) {
        this.config = config;
        this.directory = directory;
        segments = new ArrayDeque<>(content.segments());
        events = new EventWriter(
                new SegmentSeries(eventDirectory, config.limits().half(), content.events()),
                content.restored().lastSequence());
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
        open().add(JournalLine.encode(type, RecordJson.write(fields)));
        isSynced = false;
    }

    /** Whether the next run will find what is written here. */
    boolean isInPlace() {
        return directory.isInPlace(segments.peekLast(), current) && events.isInPlace();
    }

    /** Writes the events of a cycle, and adds its state. */
    void commit(CycleCommit cycle) throws IOException {
        if (!isInPlace()) {
            throw new IOException(JournalException.DISPLACED);
        }
        events.append(cycle.cycle().at(), cycle.events());
        if (current == null
                || written == null
                || isCheckpointDue(current, cycle)
                || !addChanges(current, written, cycle)) {
            beginSegment(cycle);
        }
        written = cycle;
        outcomes.clear();
    }

    /** Waits until what was added is on the disk. */
    void flush() throws IOException {
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
        if (current != null) {
            current.closeQuietly(cause);
            current = null;
        }
    }

    /** Releases the journal for other services. */
    @Override
    public void close() throws IOException {
        try {
            events.close();
            closeCurrent();
        } finally {
            directory.close();
        }
    }

    /** Actions may be executed before the first cycle is complete. They are added to the last segment, or to a first one. */
    private SegmentFile open() throws IOException {
        var file = current;
        if (file != null) {
            return file;
        }
        if (segments.isEmpty()) {
            var now = Instant.now();
            file = directory.create(1, first -> first.add(checkpointLine(now)));
            segments.add(new Segment(1, file.size(), now));
        } else {
            file = directory.openToAppend(segments.getLast());
            file.endTornLine();
        }
        current = file;
        return file;
    }

    private boolean isCheckpointDue(SegmentFile file, CycleCommit cycle) {
        var begun = segments.getLast().begun();
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
        if (!addUpTo(end, file, StateLines.between(before.state(), cycle.state()))
                || !addUpTo(end, file, StateLines.between(before.violations(), cycle.violations()))
                || (hasHistory && !addUpTo(end, file, StateLines.between(before.history(), cycle.history())))) {
            return false;
        }
        file.add(cycleLine(cycle));
        return true;
    }

    private void beginSegment(CycleCommit cycle) throws IOException {
        var at = cycle.cycle().at();
        var number = segments.isEmpty() ? 1 : segments.getLast().number() + 1;
        closeCurrent();
        var file = directory.create(number, first -> addCheckpoint(first, cycle));
        current = file;
        isSynced = true;
        checkpointEnd = file.size();
        segments.add(new Segment(number, checkpointEnd, at));
        while (segments.size() > 1) {
            directory.remove(segments.getFirst());
            segments.removeFirst();
        }
    }

    private void addCheckpoint(SegmentFile file, CycleCommit cycle) throws IOException {
        file.add(checkpointLine(cycle.cycle().at()));
        for (var outcome : outcomes) {
            file.add(JournalLine.encode(LineTypes.OUTCOME, RecordJson.write(outcome)));
        }
        addUpTo(Long.MAX_VALUE, file, StateLines.between(SavedState.EMPTY, cycle.state()));
        var end = config.largestCheckpoint();
        // A violation that is left out appears anew in the next run.
        hasHistory = addUpTo(end, file, StateLines.between(SavedState.EMPTY, cycle.violations()))
                && addUpTo(end, file, StateLines.between(SavedState.EMPTY, cycle.history()));
        if (!hasHistory) {
            file.add(LineTypes.withoutHistory());
        }
        file.add(cycleLine(cycle));
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
        return JournalLine.encode(
                LineTypes.CHECKPOINT, RecordJson.write(new LineTypes.Checkpoint(at, config.processes())));
    }

    private static byte[] cycleLine(CycleCommit cycle) {
        return JournalLine.encode(LineTypes.CYCLE, RecordJson.write(cycle.cycle()));
    }

    private void closeCurrent() throws IOException {
        if (current != null) {
            var file = current;
            current = null;
            file.close();
        }
    }
}
