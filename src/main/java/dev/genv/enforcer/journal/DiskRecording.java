package dev.genv.enforcer.journal;

import dev.genv.enforcer.recording.RecordWriter;
import dev.genv.enforcer.recording.RecordedLine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes the recorded observations to segments in the folder of the journal. It does not wait until they are on the disk: if the
 * machine fails, the last half minute may be lost. It opens the folder when it is used, and again after a failure.
 */
public final class DiskRecording implements RecordWriter {
    private final Path path;
    private final SegmentLimits limits;
    private @Nullable SegmentSeries segments;

    public DiskRecording(Path path, SegmentLimits limits) {
        this.path = path;
        this.limits = limits;
    }

    @Override
    public boolean isSegmentDue(Instant now) {
        return segments != null && segments.isSegmentDue(now); // otherwise everything is written anew anyway
    }

    @Override
    public void append(Instant at, List<RecordedLine> lines) throws IOException {
        try {
            if (segments == null) {
                segments = open();
            }
            if (!segments.isInPlace()) {
                throw new IOException(path + ": " + JournalException.DISPLACED);
            }
            segments.append(at, file -> {
                for (var line : lines) {
                    file.add(JournalLine.encode(line.type().label(), line.json().getBytes(StandardCharsets.US_ASCII)));
                }
            });
        } catch (IOException e) {
            try {
                close();
            } catch (IOException second) {
                e.addSuppressed(second);
            }
            throw e;
        }
    }

    private SegmentSeries open() throws IOException {
        var directory = JournalDirectory.open(path, FileNames.RECORDING);
        try {
            return new SegmentSeries(directory, limits, RecordedSegments.segments(directory));
        } catch (IOException e) {
            directory.close();
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        if (segments != null) {
            var open = segments;
            segments = null;
            open.close();
        }
    }
}
