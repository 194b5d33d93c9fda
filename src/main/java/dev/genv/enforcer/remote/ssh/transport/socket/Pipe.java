package dev.genv.enforcer.remote.ssh.transport.socket;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.Objects;

/**
 * Passes data from a connection to the connection that is tunnelled through it. Java's and JSch's own pipes fail after the
 * last reading thread has ended; here one thread logs in and another one reads from then on.
 */
final class Pipe extends OutputStream {
    private static final int SIZE = 32 << 10;

    private final byte[] ring = new byte[SIZE];
    private int start;
    private int length;
    private boolean closed;

    /** The end that is read. */
    InputStream source() {
        return new Source();
    }

    @Override
    public void write(int each) throws IOException {
        write(new byte[] {(byte) each}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int count) throws IOException {
        Objects.checkFromIndexSize(offset, count, bytes.length);
        for (var done = 0; done < count; ) {
            while (length == SIZE && !closed) {
                pause();
            }
            if (closed) {
                throw new IOException("closed");
            }
            var free = (start + length) % SIZE;
            var some = Math.min(Math.min(count - done, SIZE - length), SIZE - free);
            System.arraycopy(bytes, offset + done, ring, free, some);
            length += some;
            done += some;
            notifyAll();
        }
    }

    /** Ends the writing; data that was written can still be read. */
    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
    }

    private synchronized int read(byte[] bytes, int offset, int most) throws IOException {
        Objects.checkFromIndexSize(offset, most, bytes.length);
        if (most == 0) {
            return 0;
        }
        while (length == 0 && !closed) {
            pause();
        }
        if (length == 0) {
            return -1;
        }
        var some = Math.min(Math.min(most, length), SIZE - start);
        System.arraycopy(ring, start, bytes, offset, some);
        start = (start + some) % SIZE;
        length -= some;
        notifyAll();
        return some;
    }

    @SuppressWarnings("WaitNotInLoop") // both callers wait in a loop
    private synchronized void pause() throws IOException {
        try {
            wait();
        } catch (InterruptedException e) {
            throw (IOException) new InterruptedIOException("aborted").initCause(e);
        }
    }

    private final class Source extends InputStream {
        @Override
        public int read() throws IOException {
            var one = new byte[1];
            return Pipe.this.read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] bytes, int offset, int most) throws IOException {
            return Pipe.this.read(bytes, offset, most);
        }

        @Override
        public void close() {
            Pipe.this.close();
        }
    }
}
