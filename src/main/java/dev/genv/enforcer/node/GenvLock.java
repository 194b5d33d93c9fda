package dev.genv.enforcer.node;

import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** genv's own lock, held. It is for the file work alone: while it is held, every user's shell waits. */
final class GenvLock implements AutoCloseable {
    static final String NAME = "genv.lock";
    private static final int MODE = 0666;
    private static final long PAUSE_MILLIS = 10;

    private final Descriptor file;

    private GenvLock(Descriptor file) {
        this.file = file;
    }

    static @Nullable GenvLock acquire(int directory, Duration timeout, boolean create)
            throws IOException, InterruptedException {
        var start = System.nanoTime();
        while (true) {
            var file = open(directory, create);
            if (file == null) {
                return null;
            }
            var locked = false;
            try {
                locked = waitFor(file, start, timeout) && isStillThere(directory, file);
                if (locked) {
                    return new GenvLock(file);
                }
            } finally {
                if (!locked) {
                    file.close();
                }
            }
            if (System.nanoTime() - start > timeout.toNanos() * 2) {
                throw new IOException(NAME + " is replaced again and again");
            }
        }
    }

    /** Closing the descriptor gives the lock back. */
    @Override
    public void close() throws IOException {
        file.close();
    }

    private static boolean waitFor(Descriptor file, long start, Duration timeout)
            throws IOException, InterruptedException {
        if (!Libc.status(file.number()).isRegular()) {
            throw new IOException(NAME + " is not a regular file");
        }
        while (!Libc.tryFlock(file.number())) {
            if (System.nanoTime() - start >= timeout.toNanos()) {
                throw new LockTimeoutException(timeout);
            }
            Thread.sleep(PAUSE_MILLIS);
        }
        return true;
    }

    /** Whoever replaced the file while we waited is not kept out by the one that we hold. */
    private static boolean isStillThere(int directory, Descriptor file) throws IOException {
        try {
            return Libc.status(directory, NAME).isSameFile(Libc.status(file.number()));
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return false;
            }
            throw e;
        }
    }

    private static @Nullable Descriptor open(int directory, boolean create) throws IOException {
        while (true) {
            try {
                return new Descriptor(Libc.openat(directory, NAME, Libc.O_RDONLY, 0));
            } catch (Errno e) {
                if (!e.is(Errno.ENOENT)) {
                    throw new IOException(NAME + " cannot be opened: " + e.getMessage(), e);
                }
                if (!create) {
                    return null;
                }
            }
            try {
                var file = new Descriptor(Libc.openat(directory, NAME, Libc.O_CREAT | Libc.O_EXCL, MODE));
                Libc.fchmod(file.number(), MODE); // whatever the umask is
                return file;
            } catch (Errno e) {
                if (!e.is(Errno.EEXIST)) {
                    throw e;
                }
            }
        }
    }
}
