package dev.genv.enforcer.remote.ssh;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * Limits the data that a host sends without a request: ignored messages, repeated key exchanges. Reading it costs the service
 * more than sending it costs the host. Each command renews the limit; above it the connection is closed.
 */
public final class UnsolicitedDataLimit {
    /** A login needs a sixth of this, a key exchange a fiftieth. */
    static final int ALLOWANCE = 64 << 10;

    private static final int PACKET_OVERHEAD = 256;
    private static final int MAX_IN_FLIGHT = 2 << 20;

    private final AbortHandle abortHandle;
    private final long allowance;
    private long remaining;

    /**
     * Creates a limit.
     *
     * @param hops the number of servers that send on the same connection
     */
    public UnsolicitedDataLimit(AbortHandle abortHandle, int hops) {
        this.abortHandle = abortHandle;
        this.allowance = (long) ALLOWANCE * hops;
        this.remaining = allowance;
    }

    /** Counts all data that a host sends. */
    InputStream countAll(InputStream source) {
        return new FilterInputStream(source) {
            @Override
            public int read() throws IOException {
                var one = super.read();
                received(1);
                return one;
            }

            @Override
            public int read(byte[] bytes, int offset, int most) throws IOException {
                var some = super.read(bytes, offset, most);
                received(some);
                return some;
            }
        };
    }

    /** Subtracts the output of commands, which the service requested. */
    public OutputStream exclude(OutputStream target) {
        return new FilterOutputStream(target) {
            @Override
            public void write(byte[] bytes, int offset, int count) throws IOException {
                expect((long) count + PACKET_OVERHEAD);
                out.write(bytes, offset, count);
            }
        };
    }

    /** Renews the limit for a command. */
    public synchronized void renew() {
        remaining = Math.max(remaining, allowance);
    }

    /** Allows the rest of an aborted command's output, which the host may already have sent. */
    public void allowRemaining() {
        expect(MAX_IN_FLIGHT);
    }

    public synchronized boolean isExceeded() {
        return remaining < 0;
    }

    private synchronized void expect(long bytes) {
        remaining = Math.min(remaining + bytes, allowance + MAX_IN_FLIGHT);
    }

    private void received(int bytes) throws IOException {
        synchronized (this) {
            remaining -= Math.max(0, bytes);
        }
        if (isExceeded()) {
            abortHandle.abort();
            throw new IOException("the host sent too much data that the service did not request");
        }
    }
}
