package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.ApiException;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The body of a plan request while it arrives. It holds no more memory than it has reserved, even if the pieces are small. */
final class PlanBody implements AutoCloseable {
    private static final int FIRST_BLOCK = 1 << 10;
    private static final int LARGEST_BLOCK = 1 << 16;

    private final PlanMemory memory;
    private List<byte[]> blocks = new ArrayList<>();
    private int lastFilled;
    private int permits;
    private long length;
    private int users = 1;

    PlanBody(PlanMemory memory) {
        this.memory = memory;
    }

    /** Adds the next piece. Refuses a body that is too long, or for which other bodies leave no memory. */
    void add(byte[] piece) {
        length += piece.length;
        if (length > memory.largestBody()) {
            throw new ApiException(413, "the body is larger than %d bytes".formatted(memory.largestBody()));
        }
        for (var from = 0; from < piece.length; ) {
            if (blocks.isEmpty() || lastFilled == blocks.getLast().length) {
                addBlock();
            }
            var last = blocks.getLast();
            var count = Math.min(piece.length - from, last.length - lastFilled);
            System.arraycopy(piece, from, last, lastFilled, count);
            lastFilled += count;
            from += count;
        }
    }

    private void addBlock() {
        var size = blocks.isEmpty() ? FIRST_BLOCK : Math.min(LARGEST_BLOCK, 2 * blocks.getLast().length);
        if (!reserve(size >> 10)) {
            throw new ApiException(503, "other plan requests use all the memory for plans; try again soon");
        }
        blocks.add(new byte[size]);
        lastFilled = 0;
    }

    private synchronized boolean reserve(int kibibytes) {
        if (users == 0 || !memory.bodies().tryAcquire(kibibytes)) {
            return false;
        }
        permits += kibibytes;
        return true;
    }

    /** Opens the body, once. */
    InputStream open() {
        var streams = new ArrayList<InputStream>();
        for (var i = 0; i < blocks.size(); i++) {
            var block = blocks.get(i);
            streams.add(new ByteArrayInputStream(block, 0, i == blocks.size() - 1 ? lastFilled : block.length));
        }
        blocks = new ArrayList<>();
        return new SequenceInputStream(Collections.enumeration(streams));
    }

    /**
     * Keeps the reservation until one more {@link #close}: a plan that is being computed needs it even if the client has
     * disconnected. Refuses if it was already released.
     */
    synchronized PlanBody retain() {
        if (users == 0) {
            throw new ApiException(408, "the client has disconnected");
        }
        users++;
        return this;
    }

    @Override
    public synchronized void close() {
        users--;
        if (users == 0) {
            memory.bodies().release(permits);
            permits = 0;
        }
    }
}
