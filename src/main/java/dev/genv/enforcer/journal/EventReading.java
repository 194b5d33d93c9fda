package dev.genv.enforcer.journal;

import dev.genv.enforcer.linux.FileCalls;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Reads the events of earlier runs. It cuts off those of a cycle that did not come to its end, because their positions are used again. */
final class EventReading {
    private final JournalDirectory directory;
    private final long lastComplete;
    private final EventTail tail = new EventTail();
    private final List<Segment> segments = new ArrayList<>();
    private long damaged;
    private boolean isCut;

    /**
     * Prepares the reading.
     *
     * @param lastComplete the position of the last event of the last complete cycle
     */
    EventReading(JournalDirectory directory, long lastComplete) {
        this.directory = directory;
        this.lastComplete = lastComplete;
    }

    /** Reads all segments. Damaged lines are left out and counted. */
    void read() throws IOException {
        for (var segment : directory.segments()) {
            if (isCut) {
                directory.remove(segment);
            } else {
                read(segment);
            }
        }
    }

    EventTail tail() {
        return tail;
    }

    /** The segments that are left, oldest first. */
    List<Segment> segments() {
        return segments;
    }

    /** The number of damaged lines. */
    long damaged() {
        return damaged;
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
        var file = directory.openToRead(segment);
        try {
            var lines = new LineReader(file);
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
        } finally {
            FileCalls.close(file);
        }
    }

    /** Returns false if the event is of a cycle that is not complete. */
    private boolean add(JournalLine line) {
        var sequence = LineTypes.sequence(line);
        if (sequence.isPresent()) {
            if (sequence.getAsLong() > lastComplete) {
                return false;
            }
            tail.add(line, sequence.getAsLong());
        }
        return true;
    }
}
