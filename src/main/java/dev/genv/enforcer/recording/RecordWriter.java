package dev.genv.enforcer.recording;

import java.io.IOException;
import java.time.Instant;
import java.util.List;

/** Where records are written to. One thread uses it. */
public interface RecordWriter extends AutoCloseable {
    /** Whether the next records begin a new segment. Each segment must be readable alone, because the older ones are deleted. */
    boolean isSegmentDue(Instant now);

    /** Writes records. A failure may have written some of them. */
    void append(Instant at, List<RecordedLine> lines) throws IOException;

    @Override
    void close() throws IOException;
}
