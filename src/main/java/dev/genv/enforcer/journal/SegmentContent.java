package dev.genv.enforcer.journal;

import java.io.IOException;

/** Lines of a segment, which are written in pieces, because all of them together may be large. */
@FunctionalInterface
public interface SegmentContent {
    /** Adds the lines to a segment; the caller flushes it. */
    void addTo(SegmentFile file) throws IOException;
}
