package dev.genv.enforcer.journal;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;

/** A segment that is being written. */
public final class SegmentFile implements AutoCloseable {
    /** Lines of a segment, which are written in pieces, because all of them together may be large. */
    @FunctionalInterface
    public interface Content {
        /** Adds the lines to a segment; the caller flushes it. */
        void addTo(SegmentFile file) throws IOException;
    }

    private final int descriptor;
    private final ByteArrayOutputStream buffer = new ByteArrayOutputStream();
    /** Up to here the file is complete. */
    private long size;
    /** What the file contains after that. */
    private long unfinished;

    private boolean isTorn;

    SegmentFile(int descriptor, long size) {
        this.descriptor = descriptor;
        this.size = size;
    }

    /** In bytes, with what is not flushed. */
    public long size() {
        return size + unfinished + buffer.size();
    }

    /** Whether this name in a folder is still that of the file, and nobody else has changed its size. */
    boolean isAt(int folder, String name) throws IOException {
        var status = FileCalls.status(descriptor);
        return status.isSameFile(FileCalls.status(folder, name)) && status.size() == size + unfinished;
    }

    /** Adds whole lines, which are complete after {@link #flush}. A large part of them is written at once. */
    public void add(byte[] lines) throws IOException {
        buffer.writeBytes(lines);
        if (buffer.size() >= FileCalls.BUFFER) {
            write();
        }
    }

    /** Writes all that was added. If the disk refuses a part of it, the rest is cut off again, as far as possible. */
    public void flush() throws IOException {
        write();
        size += unfinished;
        unfinished = 0;
    }

    private void write() throws IOException {
        var lines = buffer.toByteArray();
        buffer.reset();
        if (lines.length > 0 && isTorn) {
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
        unfinished += lines.length;
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

    /** Cuts off what follows. */
    public void truncate(long bytes) throws IOException {
        FileCalls.ftruncate(descriptor, bytes);
        size = bytes;
    }

    private void cut(IOException cause) {
        unfinished = 0;
        try {
            FileCalls.ftruncate(descriptor, size);
        } catch (Errno e) {
            isTorn = true;
            cause.addSuppressed(e);
        }
    }
}
