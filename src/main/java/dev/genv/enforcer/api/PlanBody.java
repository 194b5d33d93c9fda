package dev.genv.enforcer.api;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The body of a request for a plan as it arrives. It holds no more memory than it has reserved, however small the pieces
 * are in which it comes.
 */
final class PlanBody implements AutoCloseable {
    private static final int FIRST_BLOCK = 1 << 10;
    private static final int LARGEST_BLOCK = 1 << 16;

    private final PlanMemory memory;
    private final MemoryPool.Reservation reading;
    private final MemoryPool.Reservation planning;
    private final PlanCost cost = new PlanCost();
    private List<byte[]> blocks = new ArrayList<>();
    private int lastFilled;
    private long length;
    private int users = 1;

    PlanBody(PlanMemory memory) {
        this.memory = memory;
        this.reading = memory.bodies().new Reservation();
        this.planning = memory.plans().new Reservation();
    }

    /**
     * Takes the next piece.
     *
     * @throws ApiException where the body is too long, or would make a plan that takes too much memory
     */
    void add(byte[] piece) {
        length += piece.length;
        if (length > memory.largestBody()) {
            throw ApiException.tooLarge("the body is larger than %d bytes".formatted(memory.largestBody()));
        }
        cost.add(piece, piece.length);
        checkCost(cost.bytes());
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
        if (!reading.add(size)) {
            throw ApiException.notYet("other requests for plans take all the memory there is for them; try again soon");
        }
        blocks.add(new byte[size]);
        lastFilled = 0;
    }

    private void checkCost(long bytes) {
        if (bytes > memory.largestCost()) {
            throw ApiException.tooLarge(
                    "the plan would take an estimated %d bytes of memory, and it may take %d; ask for fewer hosts at once"
                            .formatted(bytes, memory.largestCost()));
        }
    }

    /**
     * Reserves what is needed to make the plan.
     *
     * @throws ApiException where that is not there
     */
    void reserve() {
        reserve(cost.bytes() + memory.answerCost());
    }

    /** The same for entries that do not stand in the body. */
    void reserveFurther(long bytes) {
        checkCost(bytes);
        reserve(bytes);
    }

    private void reserve(long bytes) {
        if (!planning.add(bytes)) {
            throw ApiException.notYet("other plans take all the memory there is for them; try again soon");
        }
    }

    /** What has arrived. It can be read once. */
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
     * Keeps what is reserved until one more {@link #close}: a plan that is being made needs it although the client has gone.
     *
     * @throws ApiException where it was given back already
     */
    synchronized PlanBody use() {
        if (users == 0) {
            throw ApiException.tooSlow("the client has gone");
        }
        users++;
        return this;
    }

    @Override
    public synchronized void close() {
        users--;
        if (users == 0) {
            reading.close();
            planning.close();
        }
    }
}
