package dev.genv.enforcer.api;

/** A number of bytes of the heap, which requests reserve before they use them. */
final class MemoryPool {
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

    /** What one request holds. */
    final class Reservation implements AutoCloseable {
        private long held;
        private boolean closed;

        /** Reserves more; false where others hold so much that it is not there now, or after {@link #close}. */
        synchronized boolean add(long bytes) {
            if (closed || !take(bytes)) {
                return false;
            }
            held += bytes;
            return true;
        }

        /** Gives everything back, once. */
        @Override
        public synchronized void close() {
            take(-held);
            held = 0;
            closed = true;
        }
    }
}
