package dev.genv.enforcer.journal;

import dev.genv.enforcer.journal.line.JournalLine;
import dev.genv.enforcer.journal.segment.FileNames;
import dev.genv.enforcer.journal.segment.JournalDirectory;
import dev.genv.enforcer.journal.segment.RecordedSegments;
import dev.genv.enforcer.journal.segment.Segment;
import dev.genv.enforcer.journal.segment.SegmentFile;
import dev.genv.enforcer.journal.segment.SegmentLimits;
import dev.genv.enforcer.recording.RecordWriter;
import dev.genv.enforcer.recording.RecordedLine;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes the recorded observations to segments in the folder of the journal. It does not wait until they are on the disk: if the
 * machine fails, the last half minute may be lost. It opens the folder when it is used, and again after a failure.
 */
public final class DiskRecording implements RecordWriter {
    private final Path path;
    private final SegmentLimits limits;
    private final Deque<Segment> segments = new ArrayDeque<>();
    private @Nullable JournalDirectory directory;
    private @Nullable SegmentFile current;

    public DiskRecording(Path path, SegmentLimits limits) {
        this.path = path;
        this.limits = limits;
    }

    @Override
    public boolean isSegmentDue(Instant now) {
        if (current == null) {
            return false; // the folder is not open, so everything is written anew anyway
        }
        var begun = segments.getLast().begun();
        return current.size() >= limits.segmentBytes()
                || (begun != null && Duration.between(begun, now).abs().compareTo(limits.segmentAge()) > 0);
    }

    @Override
    public void append(Instant at, List<RecordedLine> lines) throws IOException {
        try {
            write(at, encode(lines));
        } catch (IOException e) {
            closeQuietly(e);
            throw e;
        }
    }

    private void write(Instant at, byte[] lines) throws IOException {
        var open = directory == null ? open() : directory;
        if (current == null && canContinue()) {
            current = open.openToAppend(segments.getLast());
            current.endTornLine();
        }
        if (current == null || isSegmentDue(at)) {
            begin(open, at, lines);
        } else {
            current.append(lines);
            segments.add(segments.removeLast().with(current.size()));
        }
    }

    private JournalDirectory open() throws IOException {
        var opened = JournalDirectory.open(path, FileNames.RECORDING);
        directory = opened;
        segments.clear();
        for (var segment : opened.segments()) {
            segments.add(segment.begunAt(RecordedSegments.begin(opened, segment).orElse(null)));
        }
        return opened;
    }

    private boolean canContinue() {
        return !segments.isEmpty() && segments.getLast().bytes() < limits.segmentBytes() / 2;
    }

    private void begin(JournalDirectory open, Instant at, byte[] lines) throws IOException {
        var number = segments.isEmpty() ? 1 : segments.getLast().number() + 1;
        if (current != null) {
            var full = current;
            current = null;
            full.close();
        }
        current = open.create(number, lines);
        segments.add(new Segment(number, current.size(), at));
        limits.removeOld(segments, open, at);
    }

    private static byte[] encode(List<RecordedLine> lines) {
        var bytes = new ByteArrayOutputStream();
        for (var line : lines) {
            bytes.writeBytes(JournalLine.encode(line.type().label(), line.json().getBytes(StandardCharsets.US_ASCII)));
        }
        return bytes.toByteArray();
    }

    private void closeQuietly(IOException cause) {
        try {
            close();
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    @Override
    public void close() throws IOException {
        var file = current;
        var folder = directory;
        current = null;
        directory = null;
        try {
            if (file != null) {
                file.close();
            }
        } finally {
            if (folder != null) {
                folder.close();
            }
        }
    }
}
