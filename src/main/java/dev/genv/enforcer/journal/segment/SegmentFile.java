package dev.genv.enforcer.journal.segment;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import java.io.IOException;
import java.util.Arrays;

/** A segment that is being written. */
public final class SegmentFile implements AutoCloseable {
    private final int descriptor;
    private long size;
    private boolean isTorn;

    SegmentFile(int descriptor, long size) {
        this.descriptor = descriptor;
        this.size = size;
    }

    /** In bytes. */
    public long size() {
        return size;
    }

    /** Appends whole lines. If the disk refuses a part of them, the rest is cut off again, as far as possible. */
    public void append(byte[] lines) throws IOException {
        if (isTorn) {
            FileCalls.write(descriptor, new byte[] {'\n'}); // ends the torn line, which is lost
            size++;
            isTorn = false;
        }
        try {
            for (var from = 0; from < lines.length; from += FileCalls.BUFFER) {
                FileCalls.write(
                        descriptor, Arrays.copyOfRange(lines, from, Math.min(lines.length, from + FileCalls.BUFFER)));
            }
        } catch (IOException e) {
            cut(e);
            throw e;
        }
        size += lines.length;
    }

    /** Begins with a line feed, because the last line may be torn. */
    public void endTornLine() {
        isTorn = true;
    }

    /** Waits until everything is on the disk. */
    public void sync() throws IOException {
        FileCalls.fsync(descriptor);
    }

    @Override
    public void close() throws IOException {
        FileCalls.close(descriptor);
    }

    /** Closes the file after a failure, to which a second failure is added. */
    public void closeQuietly(IOException cause) {
        try {
            close();
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    private void cut(IOException cause) {
        try {
            FileCalls.ftruncate(descriptor, size);
        } catch (Errno e) {
            isTorn = true;
            cause.addSuppressed(e);
        }
    }
}
