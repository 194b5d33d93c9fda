package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.journal.ActionIntent;
import dev.genv.enforcer.enforcement.journal.CycleCommit;
import dev.genv.enforcer.enforcement.saved.SavedState;
import dev.genv.enforcer.journal.line.JournalLine;
import dev.genv.enforcer.journal.line.LineTypes;
import dev.genv.enforcer.journal.line.RecordJson;
import dev.genv.enforcer.journal.line.StateLines;
import dev.genv.enforcer.journal.segment.JournalDirectory;
import dev.genv.enforcer.journal.segment.Segment;
import dev.genv.enforcer.journal.segment.SegmentFile;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes to the segments of an open journal. Only the thread of the journal uses it. */
final class JournalWriter implements AutoCloseable {
    private final JournalConfig config;
    private final JournalDirectory directory;
    private final Deque<Segment> segments;
    private final ByteArrayOutputStream buffer = new ByteArrayOutputStream();
    private @Nullable SegmentFile current;
    /** Where the state of the last checkpoint ends; it does not count towards the size of the segment. */
    private long checkpointEnd;
    /** The state on the disk; null if it is not known, so that the next cycle must write all of it. */
    private @Nullable SavedState written;

    JournalWriter(JournalConfig config, JournalDirectory directory, JournalReading.Content content) throws IOException {
        this.config = config;
        this.directory = directory;
        segments = new ArrayDeque<>(content.segments());
        if (!segments.isEmpty() && segments.getLast().bytes() < config.limits().segmentBytes() / 2) {
            current = directory.openToAppend(segments.getLast());
            if (content.lastLineIsTorn()) {
                current.endTornLine();
            }
        }
    }

    /** Adds intents to what {@link #flush} writes. */
    void begin(List<ActionIntent> intents) {
        intents.forEach(intent -> buffer.writeBytes(JournalLine.encode(LineTypes.INTENT, RecordJson.write(intent))));
    }

    /** Adds an outcome to what {@link #flush} writes. */
    void end(ActionIntent.Outcome outcome) {
        buffer.writeBytes(JournalLine.encode(LineTypes.OUTCOME, RecordJson.write(outcome)));
    }

    /** Adds a cycle. A full segment is followed by a new one, which begins with the cycle. */
    void commit(CycleCommit cycle) throws IOException {
        var at = cycle.cycle().at();
        if (current == null || isFull(current, at)) {
            flush();
            var number = segments.isEmpty() ? 1 : segments.getLast().number() + 1;
            closeCurrent();
            current = directory.create(number, checkpoint(cycle));
            segments.add(new Segment(number, current.size(), at));
            checkpointEnd = current.size();
            written = cycle.state();
            config.limits().removeOld(segments, directory, at);
        } else if (written == null) {
            buffer.writeBytes(checkpoint(cycle));
            flush();
            checkpointEnd = current.size();
            written = cycle.state();
        } else {
            addChanges(written, cycle);
            flush();
            written = cycle.state();
        }
    }

    /** Writes what was added, and waits until it is on the disk. */
    void flush() throws IOException {
        if (buffer.size() == 0) {
            return;
        }
        var lines = buffer.toByteArray();
        buffer.reset();
        var file = current == null ? begin() : current;
        file.append(lines);
        file.sync();
        segments.add(segments.removeLast().with(file.size()));
    }

    /** Drops what was not written. The next cycle writes the whole state, into a new segment. */
    void recover(IOException cause) {
        buffer.reset();
        written = null;
        if (current != null) {
            current.closeQuietly(cause);
            current = null;
        }
    }

    /** Releases the journal for other services. */
    @Override
    public void close() throws IOException {
        try {
            closeCurrent();
        } finally {
            directory.close();
        }
    }

    /** Actions may be executed before the first cycle is complete. They are added to the last segment, or to a first one. */
    private SegmentFile begin() throws IOException {
        SegmentFile file;
        if (segments.isEmpty()) {
            var now = Instant.now();
            file = directory.create(1, checkpointLine(now));
            segments.add(new Segment(1, file.size(), now));
        } else {
            file = directory.openToAppend(segments.getLast());
            file.endTornLine();
        }
        current = file;
        return file;
    }

    private byte[] checkpoint(CycleCommit cycle) {
        var lines = new ByteArrayOutputStream();
        lines.writeBytes(checkpointLine(cycle.cycle().at()));
        write(lines, SavedState.EMPTY, cycle);
        return lines.toByteArray();
    }

    private byte[] checkpointLine(Instant at) {
        return JournalLine.encode(
                LineTypes.CHECKPOINT, RecordJson.write(new LineTypes.Checkpoint(at, config.processes())));
    }

    private void addChanges(SavedState before, CycleCommit cycle) {
        write(buffer, before, cycle);
    }

    private static void write(ByteArrayOutputStream lines, SavedState before, CycleCommit cycle) {
        cycle.events().forEach(event -> lines.writeBytes(LineTypes.encode(event)));
        StateLines.between(before, cycle.state()).forEach(lines::writeBytes);
        lines.writeBytes(JournalLine.encode(LineTypes.CYCLE, RecordJson.write(cycle.cycle())));
    }

    private boolean isFull(SegmentFile file, Instant now) {
        var begun = segments.getLast().begun();
        return file.size() - checkpointEnd >= config.limits().segmentBytes()
                || (begun != null
                        && Duration.between(begun, now)
                                        .abs()
                                        .compareTo(config.limits().segmentAge())
                                > 0);
    }

    private void closeCurrent() throws IOException {
        if (current != null) {
            var file = current;
            current = null;
            file.close();
        }
    }
}
