package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** genv's own lock, held. It is for the file work alone: while it is held, every user's shell waits. */
final class GenvLock implements AutoCloseable {
    static final String NAME = "genv.lock";
    private static final int MODE = 0666;
    private static final long PAUSE_MILLIS = 10;
    /** To open or make the file, while others make and remove it. */
    private static final int MOST_ATTEMPTS = 100;

    private final int directory;
    private final Descriptor file;

    private GenvLock(int directory, Descriptor file) {
        this.directory = directory;
        this.file = file;
    }

    /**
     * Waits for it.
     *
     * @return null where there is no lock file and none is to be made: then nobody holds it
     * @throws LockException where it cannot be had in this time
     */
    static @Nullable GenvLock acquire(int directory, Duration timeout, boolean create)
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
        throw LockException.unusable("is replaced again and again", null);
    }

    /** Whether it still keeps others out: not where its file was removed or replaced. */
    boolean isInPlace() throws IOException {
        return isStillThere(directory, FileCalls.status(file.number()));
    }

    /** Closing the descriptor gives the lock back. */
    @Override
    public void close() throws IOException {
        file.close();
    }

    /** False where the file was replaced: whoever replaced it is not kept out by the one that we hold or wait for. */
    private static boolean waitFor(int directory, Descriptor file, long deadline, Duration timeout)
            throws IOException, InterruptedException {
        var status = FileCalls.status(file.number());
        if (!status.isRegular()) {
            throw LockException.unusable("is not a regular file", null);
        }
        while (!FileCalls.tryFlock(file.number())) {
            if (System.nanoTime() - deadline >= 0) {
                throw LockException.timeout(timeout, status);
            }
            Thread.sleep(PAUSE_MILLIS);
            if (!isStillThere(directory, status)) {
                return false;
            }
        }
        return isStillThere(directory, status);
    }

    private static boolean isStillThere(int directory, FileStatus file) throws IOException {
        try {
            return FileCalls.status(directory, NAME).isSameFile(file);
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return false;
            }
            throw e;
        }
    }

    private static @Nullable Descriptor open(int directory, boolean create) throws IOException {
        for (var attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
            try {
                return new Descriptor(FileCalls.openat(directory, NAME, FileCalls.O_RDONLY, 0));
            } catch (Errno e) {
                if (!e.is(Errno.ENOENT)) {
                    throw LockException.unusable("cannot be opened: " + e.getMessage(), e);
                }
                if (!create) {
                    return null;
                }
            }
            try {
                var file =
                        new Descriptor(FileCalls.openat(directory, NAME, FileCalls.O_CREAT | FileCalls.O_EXCL, MODE));
                FileCalls.fchmod(file.number(), MODE); // whatever the umask is
                return file;
            } catch (Errno e) {
                if (!e.is(Errno.EEXIST)) {
                    throw LockException.unusable("cannot be made: " + e.getMessage(), e);
                }
            }
        }
        throw LockException.unusable("comes and goes", null);
    }
}
