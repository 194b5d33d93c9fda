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

    /**
     * Waits for the lock.
     *
     * @return null if there is no lock file and none is to be created: then the lock is free
     * @throws LockException if the lock is not available in this time, or invalid
     */
    static @Nullable GenvLock acquire(StateDirectory directory, Duration timeout, boolean create)
            throws IOException, InterruptedException {
        var deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            try {
                var file = open(directory, create);
                return file == null ? null : new GenvLock(directory, file).waitUntil(deadline, timeout);
            } catch (LockException e) {
                if (e.isFinal || System.nanoTime() - deadline >= 0) {
                    throw e;
                }
            }
            Thread.sleep(PAUSE_MILLIS);
        }
    }

    /** Keeps the file open in the meantime, so that others see who waits. */
    private GenvLock waitUntil(long deadline, Duration timeout) throws IOException, InterruptedException {
        var isLocked = false;
        try {
            if (!file.status().isRegular()) {
                throw LockException.unusable("is not a regular file", null);
            }
            while (!FileCalls.tryFlock(file.number())) {
                if (System.nanoTime() - deadline >= 0) {
                    throw LockException.timeout(timeout, file.status());
                }
                Thread.sleep(PAUSE_MILLIS);
                requireInPlace();
            }
            requireInPlace();
            isLocked = true;
            return this;
        } finally {
            if (!isLocked) {
                close();
            }
        }
    }

    private void requireInPlace() throws IOException {
        if (!isInPlace()) {
            throw LockException.temporary("is replaced repeatedly", null);
        }
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

    /** Returns null if there is no lock file and none is to be created. */
    private static @Nullable Descriptor open(StateDirectory directory, boolean create) throws IOException {
        try {
            return directory.open(NAME);
        } catch (Errno e) {
            if (e.is(Errno.ELOOP)) {
                throw LockException.unusable("is a symbolic link", e);
            }
            if (e.is(Errno.EAGAIN)) {
                throw LockException.temporary("is kept from being opened by its owner (fcntl F_SETLEASE)", e);
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
            throw e.is(Errno.EEXIST)
                    ? LockException.temporary("is created and removed repeatedly", e)
                    : LockException.unusable("cannot be created: " + e.getMessage(), e);
        }
    }

    /** genv's lock is not available. */
    static final class LockException extends IOException {
        private static final long serialVersionUID = 1L;

        private final String reason;
        private final transient @Nullable FileStatus file;
        /** Whether a further attempt is useless. */
        private final boolean isFinal;

        private LockException(@Nullable FileStatus file, String reason, boolean isFinal, @Nullable Throwable cause) {
            super(GenvLock.NAME + " " + reason, cause);
            this.reason = reason;
            this.file = file;
            this.isFinal = isFinal;
        }

        /** Another program held the lock for longer than the time limit. */
        static LockException timeout(Duration waited, FileStatus file) {
            return new LockException(
                    file,
                    "is held by another program, for longer than %d ms".formatted(waited.toMillis()),
                    false,
                    null);
        }

        /** The lock file cannot be locked. */
        static LockException unusable(String why, @Nullable Throwable cause) {
            return new LockException(null, why, true, cause);
        }

        /** The lock file cannot be locked at this moment. */
        private static LockException temporary(String why, @Nullable Throwable cause) {
            return new LockException(null, why, false, cause);
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
