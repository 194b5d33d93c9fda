package dev.genv.enforcer.journal;

import dev.genv.enforcer.linux.FileCalls;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads the lines of a segment. Its memory is bounded: a line above a limit counts as damaged. */
public final class LineReader implements AutoCloseable {
    /** In bytes; the entry of a host with the largest state file is shorter. */
    static final int LONGEST_LINE = 16 << 20;

    private final int descriptor;
    private byte[] buffer = new byte[2 * FileCalls.BUFFER];
    private int from;
    private int to;
    private long bytesRead;
    /** Up to here there is no line feed. */
    private int scanned;

    private boolean skips;
    private boolean atEnd;

    /**
     * A line.
     *
     * @param content the line; empty if it is damaged
     * @param isComplete whether it ends with a line feed; the last line may not
     */
    public record Line(Optional<JournalLine> content, boolean isComplete) {}

    LineReader(int descriptor) {
        this.descriptor = descriptor;
    }

    /** Where the line after the last returned one begins. */
    public long position() {
        return bytesRead - (to - from);
    }

    /** Returns the next line that is not empty; null at the end. */
    @Nullable
    public Line next() throws IOException {
        while (true) {
            var end = lineFeed();
            if (end < 0 && !atEnd) {
                fill();
            } else {
                var isComplete = end >= 0;
                var lineEnd = isComplete ? end : to;
                var isEmpty = lineEnd == from && !skips;
                var content = skips ? Optional.<JournalLine>empty() : JournalLine.decode(buffer, from, lineEnd);
                from = isComplete ? end + 1 : to;
                skips = false;
                if (!isEmpty) {
                    return new Line(content, isComplete);
                }
                if (!isComplete) {
                    return null;
                }
            }
        }
    }

    private int lineFeed() {
        for (var i = Math.max(from, scanned); i < to; i++) {
            if (buffer[i] == '\n') {
                return i;
            }
        }
        scanned = to;
        return -1;
    }

    private void fill() throws IOException {
        if (to - from > LONGEST_LINE) {
            from = to;
            skips = true;
        }
        if (from > 0) {
            System.arraycopy(buffer, from, buffer, 0, to - from);
            to -= from;
            scanned = Math.max(0, scanned - from);
            from = 0;
        }
        var bytes = FileCalls.read(descriptor, FileCalls.BUFFER);
        if (to + bytes.length > buffer.length) {
            buffer = Arrays.copyOf(buffer, Math.max(2 * buffer.length, to + bytes.length));
        }
        System.arraycopy(bytes, 0, buffer, to, bytes.length);
        to += bytes.length;
        bytesRead += bytes.length;
        atEnd = bytes.length < FileCalls.BUFFER;
    }

    @Override
    public void close() throws IOException {
        FileCalls.close(descriptor);
    }
}
