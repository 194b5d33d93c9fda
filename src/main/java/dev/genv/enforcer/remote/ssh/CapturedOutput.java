package dev.genv.enforcer.remote.ssh;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * The output of a command. It accepts every byte and keeps the first ones. It never waits and never throws, because the
 * thread that reads the whole connection calls it.
 */
final class CapturedOutput extends ByteArrayOutputStream {
    private static final int FIRST_SIZE = 1 << 10;

    private final int kept;
    private final long most;
    private final Runnable onWrite;
    private final Runnable onExceeded;
    private final Runnable closed;
    private long received;
    /** No line that begins before this index has the text that is searched. */
    private int searched;

    /** No line that was found ends before this index. */
    private int lineEnd;

    /**
     * Creates an empty output.
     *
     * @param kept the number of bytes that are kept
     * @param most the number of bytes above which {@code onExceeded} is called
     */
    CapturedOutput(int kept, long most, Runnable onWrite, Runnable onExceeded, Runnable closed) {
        super(Math.min(kept, FIRST_SIZE));
        this.kept = kept;
        this.most = most;
        this.onWrite = onWrite;
        this.onExceeded = onExceeded;
        this.closed = closed;
    }

    @Override
    public synchronized void write(int each) {
        write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] source, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, source.length);
        received += length;
        super.write(source, offset, Math.min(length, kept - count));
        (isExceeded() ? onExceeded : onWrite).run();
    }

    @Override
    public void close() {
        closed.run();
    }

    synchronized boolean isExceeded() {
        return received > most;
    }

    /** The kept output, with one char for each byte (ISO-8859-1). */
    String text() {
        return toString(StandardCharsets.ISO_8859_1);
    }

    /** The kept output before an index. */
    synchronized String text(int end) {
        return new String(buf, 0, end, StandardCharsets.ISO_8859_1);
    }

    synchronized void clear() {
        buf = new byte[Math.min(kept, FIRST_SIZE)];
        count = 0;
        received = 0;
        searched = 0;
        lineEnd = 0;
    }

    /**
     * Returns the index after the first complete line that contains a text, or -1. Until {@link #clear} it must be the same text,
     * because the search continues where it ended.
     */
    synchronized int findLine(byte[] text) {
        while (searched + text.length <= count) {
            if (buf[searched] == text[0]
                    && Arrays.equals(buf, searched, searched + text.length, text, 0, text.length)) {
                for (lineEnd = Math.max(lineEnd, searched); lineEnd < count; lineEnd++) {
                    if (buf[lineEnd] == '\n') {
                        return lineEnd + 1;
                    }
                }
                return -1;
            }
            searched++;
        }
        return -1;
    }
}
