package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Event;
import java.io.IOException;
import java.time.Instant;
import java.util.List;

/** Writes events to segments of their own, each event once. */
final class EventWriter implements AutoCloseable {
    private final SegmentSeries segments;
    private long last;

    /**
     * Continues the events of earlier runs.
     *
     * @param last the position of their last one
     */
    EventWriter(SegmentSeries segments, long last) {
        this.segments = segments;
        this.last = last;
    }

    /** Writes those of the events that are not written yet. They are on the disk when it returns. */
    void append(Instant at, List<Event> events) throws IOException {
        var unwritten = events.stream().filter(event -> event.sequence() > last).toList();
        if (unwritten.isEmpty()) {
            return;
        }
        segments.append(at, file -> {
            for (var event : unwritten) {
                file.add(LineTypes.encode(event));
            }
        });
        segments.sync();
        last = unwritten.getLast().sequence();
    }

    boolean isInPlace() {
        return segments.isInPlace();
    }

    void recover(IOException cause) {
        segments.recover(cause);
    }

    @Override
    public void close() throws IOException {
        segments.close();
    }
}
