package dev.genv.enforcer.journal;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Segments that are written one after the other. Above the limits the oldest ones are deleted. */
public final class SegmentSeries implements AutoCloseable {
    private final JournalDirectory directory;
    private final SegmentLimits limits;
    private final Deque<Segment> segments;
    private @Nullable SegmentFile current;

    /**
     * Continues segments. The last one is used again if there is much space left in it.
     *
     * @param directory closed with the series
     * @param segments oldest first
     */
    public SegmentSeries(JournalDirectory directory, SegmentLimits limits, List<Segment> segments) {
        this.directory = directory;
        this.limits = limits;
        this.segments = new ArrayDeque<>(segments);
    }

    /** Whether the segment in use is full or old, so that {@link #append} begins a new one. */
    public boolean isSegmentDue(Instant now) {
        if (current == null) {
            return false;
        }
        var begun = segments.getLast().begun();
        return current.size() >= limits.segmentBytes()
                || (begun != null && Duration.between(begun, now).abs().compareTo(limits.segmentAge()) > 0);
    }

    /** Appends lines. They are complete when it returns, but perhaps not on the disk. */
    public void append(Instant at, SegmentFile.Content lines) throws IOException {
        if (current == null && !segments.isEmpty() && segments.getLast().bytes() < limits.segmentBytes() / 2) {
            openLast();
        }
        if (current == null || isSegmentDue(at)) {
            begin(at, lines);
            limits.removeOld(segments, directory, at);
        } else {
            lines.addTo(current);
            current.flush();
            segments.add(segments.removeLast().with(current.size()));
        }
    }

    /** Whether the next run will find what is written here. */
    public boolean isInPlace() {
        return directory.isInPlace(segments.peekLast(), current);
    }

    /** Waits until everything is on the disk. */
    public void sync() throws IOException {
        if (current != null) {
            current.sync();
        }
    }

    /** Closes the segment in use, because writing to it failed. */
    public void recover(IOException cause) {
        if (current != null) {
            current.closeQuietly(cause);
            current = null;
        }
    }

    /** The segment in use; null if none is open. */
    @Nullable
    SegmentFile current() {
        return current;
    }

    /** When the last segment was begun; null if that is unknown. */
    @Nullable
    Instant begun() {
        return segments.getLast().begun();
    }

    /** Returns the segment in use, or else the last one; null if there is none. */
    @Nullable
    SegmentFile openLast() throws IOException {
        if (current == null && !segments.isEmpty()) {
            current = directory.openToAppend(segments.getLast());
            current.endTornLine();
        }
        return current;
    }

    /** Begins a segment with these lines, which are on the disk when it returns. */
    SegmentFile begin(Instant at, SegmentFile.Content lines) throws IOException {
        var number = segments.isEmpty() ? 1 : segments.getLast().number() + 1;
        closeCurrent();
        var begun = directory.create(number, lines);
        current = begun;
        segments.add(new Segment(number, begun.size(), at));
        return begun;
    }

    /** Deletes all segments but the last one. */
    void removeEarlier() throws IOException {
        while (segments.size() > 1) {
            directory.remove(segments.getFirst());
            segments.removeFirst();
        }
    }

    private void closeCurrent() throws IOException {
        if (current != null) {
            var file = current;
            current = null;
            file.close();
        }
    }

    @Override
    public void close() throws IOException {
        try {
            closeCurrent();
        } finally {
            directory.close();
        }
    }
}
