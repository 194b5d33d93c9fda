package dev.genv.enforcer.remote.ssh;

import java.io.Closeable;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The socket and the pipes of a connection through all its hops. Closing it ends all threads that use the connection. It is
 * closed when the host sends more bytes than it is allowed: ignored messages and repeated key exchanges cost the service more than
 * they cost the host.
 */
final class Transport implements Closeable {
    /** What a host may send without a request. A login needs a sixth of this, a key exchange a fiftieth. */
    static final int ALLOWANCE = 64 << 10;

    private final List<Closeable> held = new ArrayList<>();
    private final long allowance;
    private long remaining;
    private boolean closed;
    private String stage = "no attempt was started";

    /**
     * Creates a transport.
     *
     * @param hops the number of servers that send over it
     */
    Transport(int hops) {
        allowance = (long) ALLOWANCE * hops;
        remaining = allowance;
    }

    /** Registers a resource. It is closed at once if the transport was already closed. */
    synchronized <T extends Closeable> T register(T each) {
        held.add(each);
        if (closed) {
            close(each);
        }
        return each;
    }

    /** Records the current stage, which a timeout reports. */
    synchronized void enterStage(String now) {
        stage = now;
    }

    synchronized String stage() {
        return stage;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public synchronized void close() {
        closed = true;
        held.forEach(Transport::close);
    }

    static void close(Closeable each) {
        try {
            each.close();
        } catch (IOException _) {
            // the resource is abandoned, so the failure does not matter
        }
    }

    /** Begins a new limit: from now on the host may send so many bytes, and what it sends without a request. */
    synchronized void expect(long bytes) {
        if (!isExceeded()) {
            remaining = allowance + bytes;
        }
    }

    /** Whether the host sent more than it was allowed. */
    synchronized boolean isExceeded() {
        return remaining < 0;
    }

    /** Counts what a host sends. */
    InputStream count(InputStream source) {
        return new FilterInputStream(source) {
            @Override
            public int read(byte[] bytes, int offset, int most) throws IOException {
                var some = super.read(bytes, offset, most);
                received(some);
                return some;
            }
        };
    }

    private synchronized void received(int bytes) throws IOException {
        remaining -= Math.max(0, bytes);
        if (isExceeded()) {
            close();
            throw new IOException("the host sent too much data that the service did not request");
        }
    }
}
