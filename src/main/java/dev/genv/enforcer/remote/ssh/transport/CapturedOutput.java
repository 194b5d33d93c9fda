package dev.genv.enforcer.remote.ssh.transport;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * The output of a command. It accepts every byte and keeps the first ones. It never waits and never throws, because the
 * thread that reads the whole connection calls it.
 */
final class CapturedOutput extends OutputStream {
    private static final int FIRST_SIZE = 1 << 10;

    private final int kept;
    private final long most;
    private final Runnable onExceeded;
    private final Runnable closed;
    private byte[] bytes;
    private int length;
    private long received;

    /**
     * Creates an empty output.
     *
     * @param kept the number of bytes that are kept
     * @param most the number of bytes above which {@code tooMuch} is called
     */
    CapturedOutput(int kept, long most, Runnable tooMuch, Runnable closed) {
        this.kept = kept;
        this.most = most;
        this.onExceeded = tooMuch;
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
            onExceeded.run();
        }
    }

    @Override
    public void close() {
        closed.run();
    }

    synchronized boolean isExceeded() {
        return received > most;
    }

    /** The kept output, with one char for each byte (ISO-8859-1). */
    synchronized String text() {
        return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
    }

    private synchronized long keep(byte[] source, int offset, int count) {
        received += count;
        var some = Math.min(count, kept - length);
        if (length + some > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.min(kept, Math.max(length + some, 2L * bytes.length)));
        }
        System.arraycopy(source, offset, bytes, length, some);
        length += some;
        return received;
    }
}
