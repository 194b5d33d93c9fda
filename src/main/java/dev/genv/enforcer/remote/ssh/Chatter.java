package dev.genv.enforcer.remote.ssh;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * What a host says without having been asked: messages to ignore, new keys again and again. Reading it costs this side more
 * than it costs the host, at any time. So beyond a measure, which each command gives anew, nobody listens any longer.
 */
final class Chatter {
    /** A login needs a sixth of it, the keys that are made anew a fiftieth. */
    static final int MEASURE = 64 << 10;

    private static final int WRAPPING = 256;
    private static final int MOST_ON_THE_WAY = 2 << 20;

    private final Lifeline lifeline;
    private final long measure;
    private long left;

    /**
     * Prepares it.
     *
     * @param hops how many servers speak on the same connection
     */
    Chatter(Lifeline lifeline, int hops) {
        this.lifeline = lifeline;
        this.measure = (long) MEASURE * hops;
        this.left = measure;
    }

    /** All that comes from the host. */
    InputStream all(InputStream source) {
        return new FilterInputStream(source) {
            @Override
            public int read() throws IOException {
                var one = super.read();
                heard(1);
                return one;
            }

            @Override
            public int read(byte[] bytes, int offset, int most) throws IOException {
                var some = super.read(bytes, offset, most);
                heard(some);
                return some;
            }
        };
    }

    /** The part of it that a command says. */
    OutputStream asked(OutputStream target) {
        return new FilterOutputStream(target) {
            @Override
            public void write(byte[] bytes, int offset, int count) throws IOException {
                expect((long) count + WRAPPING);
                out.write(bytes, offset, count);
            }
        };
    }

    /** A command begins. */
    synchronized void renew() {
        left = Math.max(left, measure);
    }

    /** A command was broken off: it may have said more already. */
    void expectTheRest() {
        expect(MOST_ON_THE_WAY);
    }

    synchronized boolean isTooMuch() {
        return left < 0;
    }

    private synchronized void expect(long bytes) {
        left = Math.min(left + bytes, measure + MOST_ON_THE_WAY);
    }

    private void heard(int bytes) throws IOException {
        if (subtract(Math.max(0, bytes))) {
            lifeline.cut();
            throw new IOException("it says too much that nobody asked for");
        }
    }

    private synchronized boolean subtract(int bytes) {
        left -= bytes;
        return left < 0;
    }
}
