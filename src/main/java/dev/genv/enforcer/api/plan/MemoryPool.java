package dev.genv.enforcer.api.plan;

/** An amount of heap that requests reserve before they use it. */
public final class MemoryPool {
    private final long size;
    private long free;

    MemoryPool(long size) {
        this.size = size;
        this.free = size;
    }

    long size() {
        return size;
    }

    private synchronized boolean take(long bytes) {
        if (bytes > free) {
            return false;
        }
        free -= bytes;
        return true;
    }

    /** The reservation of one request. */
    public final class Reservation implements AutoCloseable {
        private long held;
        private boolean closed;

        /** Reserves more; returns false if the pool has not enough left, or after {@link #close}. */
        public synchronized boolean add(long bytes) {
            if (closed || !take(bytes)) {
                return false;
            }
            held += bytes;
            return true;
        }

        /** Releases the reservation, once. */
        @Override
        public synchronized void close() {
            take(-held);
            held = 0;
            closed = true;
        }
    }
}
