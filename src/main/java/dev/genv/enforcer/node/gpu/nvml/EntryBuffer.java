package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.format.gpu.NvmlCode;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.IntSupplier;

/**
 * Memory for a list of NVML and the number of its entries. It is filled with a pattern before each call, and so it shows afterwards which
 * bytes NVML wrote. It is kept, because most lists fit into the memory of the last one.
 */
final class EntryBuffer implements AutoCloseable {
    private static final byte POISON = (byte) 0xA5;
    static final int POISON_INT = 0xA5A5A5A5;
    static final long POISON_LONG = 0xA5A5A5A5_A5A5A5A5L;
    /** More entries than the contexts that a GPU can have. */
    private static final int MOST_ENTRIES = 1 << 16;

    private static final int FIRST_CAPACITY = 64;
    /** In bytes: twice the size of the largest entry, so that another layout does not write past the end. */
    private static final int SPACE_PER_ENTRY = 64;

    private Allocation now = Allocation.of(FIRST_CAPACITY);

    /** What is allocated and freed together. */
    private record Allocation(
            Arena arena, int capacity, MemorySegment count, MemorySegment entries, MemorySegment poison) {
        static Allocation of(int capacity) {
            var arena = Arena.ofConfined();
            var size = (long) capacity * SPACE_PER_ENTRY;
            return new Allocation(
                    arena,
                    capacity,
                    arena.allocate(JAVA_INT),
                    arena.allocate(size, Long.BYTES),
                    arena.allocate(size, Long.BYTES).fill(POISON));
        }
    }

    /** Makes a call that fills the buffer, again with a larger one while it is too small, and returns the last code. */
    int fill(IntSupplier call) {
        int code;
        do {
            reset();
            code = call.getAsInt();
        } while (code == NvmlCode.INSUFFICIENT_SIZE.number() && grow());
        return code;
    }

    private void reset() {
        now.entries.copyFrom(now.poison);
        now.count.set(JAVA_INT, 0, now.capacity);
    }

    /**
     * Enlarges the buffer to the number of entries that NVML asked for, and at least to twice its size.
     *
     * @return false if there are too many
     */
    private boolean grow() {
        var wanted = Math.max(length(), 2L * now.capacity);
        if (wanted > MOST_ENTRIES) {
            return false;
        }
        now.arena.close();
        now = Allocation.of((int) wanted);
        return true;
    }

    /** Returns the number of entries that NVML counted, which may be more than there is memory for. */
    long length() {
        return Integer.toUnsignedLong(now.count.get(JAVA_INT, 0));
    }

    int capacity() {
        return now.capacity;
    }

    MemorySegment count() {
        return now.count;
    }

    MemorySegment entries() {
        return now.entries;
    }

    /** Returns whether NVML wrote nothing from this byte on. */
    boolean isUnwrittenFrom(long offset) {
        var size = now.entries.byteSize();
        return MemorySegment.mismatch(now.entries, offset, size, now.poison, offset, size) == -1;
    }

    @Override
    public void close() {
        now.arena.close();
    }
}
