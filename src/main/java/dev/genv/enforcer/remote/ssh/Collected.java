package dev.genv.enforcer.remote.ssh;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * What a command says. It takes everything and keeps the beginning; it neither waits nor throws, for it is called by the thread on
 * which the whole connection depends.
 */
final class Collected extends OutputStream {
    private static final int FIRST_SIZE = 1 << 10;

    private final int kept;
    private final long most;
    private final Runnable tooMuch;
    private final Runnable closed;
    private byte[] bytes;
    private int length;
    private long said;

    /**
     * Prepares it.
     *
     * @param kept how much of it is kept
     * @param most with more than that, {@code tooMuch} is told
     */
    Collected(int kept, long most, Runnable tooMuch, Runnable closed) {
        this.kept = kept;
        this.most = most;
        this.tooMuch = tooMuch;
        this.closed = closed;
        this.bytes = new byte[Math.min(kept, FIRST_SIZE)];
    }

    @Override
    public void write(int each) {
        write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int count) {
        Objects.checkFromIndexSize(offset, count, source.length);
        if (keep(source, offset, count) > most) {
            tooMuch.run();
        }
    }

    @Override
    public void close() {
        closed.run();
    }

    synchronized boolean isTooMuch() {
        return said > most;
    }

    /** A char a byte. */
    synchronized String text() {
        return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
    }

    private synchronized long keep(byte[] source, int offset, int count) {
        said += count;
        var some = Math.min(count, kept - length);
        if (length + some > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.min(kept, Math.max(length + some, 2L * bytes.length)));
        }
        System.arraycopy(source, offset, bytes, length, some);
        length += some;
        return said;
    }
}
