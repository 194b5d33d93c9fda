package dev.genv.enforcer.node.state;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** genv's own lock while it is held. It is held only for file access, because every user's shell waits for it. */
record GenvLock(StateDirectory directory, Descriptor file) implements AutoCloseable {
    static final String NAME = "genv.lock";
    private static final int MODE = 0666;
    private static final long PAUSE_MILLIS = 10;
    /** The number of attempts to open or create the file while others create and remove it. */
    private static final int MAX_ATTEMPTS = 100;

    /**
     * Waits for the lock.
     *
     * @return null if there is no lock file and none is to be created: then the lock is free
     * @throws LockException if the lock is not available in this time, or invalid
     */
    static @Nullable GenvLock acquire(StateDirectory directory, Duration timeout, boolean create)
            throws IOException, InterruptedException {
        var deadline = System.nanoTime() + timeout.toNanos();
        do {
            var file = open(directory, create);
            if (file == null) {
                return null;
            }
            var locked = false;
            try {
                locked = waitFor(directory, file, deadline, timeout);
                if (locked) {
                    return new GenvLock(directory, file);
                }
            } finally {
                if (!locked) {
                    file.close();
                }
            }
        } while (System.nanoTime() - deadline < 0);
        throw LockException.unusable("is replaced repeatedly", null);
    }

    /** Whether the lock still excludes others: not if its file was removed or replaced. */
    boolean isInPlace() throws IOException {
        return directory.contains(NAME, file.status());
    }

    /** Closing the descriptor releases the lock. */
    @Override
    public void close() throws IOException {
        file.close();
    }

    /** Returns false if the file was replaced: the held lock does not exclude users of the new file. */
    private static boolean waitFor(StateDirectory directory, Descriptor file, long deadline, Duration timeout)
            throws IOException, InterruptedException {
        var status = file.status();
        if (!status.isRegular()) {
            throw LockException.unusable("is not a regular file", null);
        }
        while (!FileCalls.tryFlock(file.number())) {
            if (System.nanoTime() - deadline >= 0) {
                throw LockException.timeout(timeout, status);
            }
            Thread.sleep(PAUSE_MILLIS);
            if (!directory.contains(NAME, status)) {
                return false;
            }
        }
        return directory.contains(NAME, status);
    }

    private static @Nullable Descriptor open(StateDirectory directory, boolean create) throws IOException {
        for (var attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
            try {
                return directory.open(NAME);
            } catch (Errno e) {
                if (e.is(Errno.ELOOP)) {
                    throw LockException.unusable("is a symbolic link", e);
                }
                if (e.is(Errno.EAGAIN)) {
                    throw LockException.unusable("is kept from being opened by its owner (fcntl F_SETLEASE)", e);
                }
                if (!e.is(Errno.ENOENT)) {
                    throw LockException.unusable("cannot be opened: " + e.getMessage(), e);
                }
                if (!create) {
                    return null;
                }
            }
            try {
                var file = directory.create(NAME, FileCalls.O_RDONLY, MODE);
                FileCalls.fchmod(file.number(), MODE); // independent of the umask
                return file;
            } catch (Errno e) {
                if (!e.is(Errno.EEXIST)) {
                    throw LockException.unusable("cannot be created: " + e.getMessage(), e);
                }
            }
        }
        throw LockException.unusable("is created and removed repeatedly", null);
    }

    /** genv's lock is not available. */
    static final class LockException extends IOException {
        private static final long serialVersionUID = 1L;

        private final String reason;
        private final transient @Nullable FileStatus file;

        private LockException(@Nullable FileStatus file, String reason, @Nullable Throwable cause) {
            super(GenvLock.NAME + " " + reason, cause);
            this.reason = reason;
            this.file = file;
        }

        /** Another program held the lock for longer than the time limit. */
        static LockException timeout(Duration waited, FileStatus file) {
            return new LockException(
                    file, "is held by another program, for longer than %d ms".formatted(waited.toMillis()), null);
        }

        /** The lock file cannot be locked. */
        static LockException unusable(String why, @Nullable Throwable cause) {
            return new LockException(null, why, cause);
        }

        /** Returns the reason as a clause without a subject. */
        String reason() {
            return reason;
        }

        /** The file that another program holds; null if none does. */
        @Nullable
        FileStatus file() {
            return file;
        }
    }
}
