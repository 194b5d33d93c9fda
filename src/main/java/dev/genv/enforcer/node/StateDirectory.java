package dev.genv.enforcer.node;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * genv's state directory, opened once for one piece of work. Every local user may write in it, so nothing in it is trusted:
 * no link is followed, nothing but a regular file of bounded size is read, and nothing is ever written in place.
 */
final class StateDirectory implements AutoCloseable {
    static final int LARGEST_FILE = 16 << 20;
    private static final int EVERYBODYS_FILE = 0666;
    private static final int EVERYBODYS_DIRECTORY = 0777;

    private final Descriptor directory;

    private StateDirectory(Descriptor directory) {
        this.directory = directory;
    }

    /** Opens it; null where there is none, as on a machine where nobody has used genv yet. */
    static @Nullable StateDirectory open(Path path) throws IOException {
        try {
            var flags = Libc.O_RDONLY | Libc.O_DIRECTORY;
            return new StateDirectory(new Descriptor(Libc.openat(Libc.AT_FDCWD, path.toString(), flags, 0)));
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return null;
            }
            throw e;
        }
    }

    /** Lets everybody in, as genv itself would have made the directory. */
    void openToEverybody() throws IOException {
        Libc.fchmod(directory.number(), EVERYBODYS_DIRECTORY);
    }

    /** Whether it is root's, and closed to others. */
    boolean isClosedToOthers() throws IOException {
        var status = Libc.status(directory.number());
        return status.uid() == 0 && (status.permissions() & EVERYBODYS_DIRECTORY) != EVERYBODYS_DIRECTORY;
    }

    /**
     * Reads a file.
     *
     * @return null where there is none
     */
    byte @Nullable [] read(String name) throws IOException {
        try (var file = new Descriptor(Libc.openat(directory.number(), name, Libc.O_RDONLY, 0))) {
            var status = Libc.status(file.number());
            if (!status.isRegular()) {
                throw new IOException("is not a regular file");
            }
            if (status.size() > LARGEST_FILE) {
                throw new IOException("is larger than " + LARGEST_FILE + " bytes");
            }
            // One byte more than it should have: a file that grows while it is read is noticed.
            var bytes = Libc.read(file.number(), (int) status.size() + 1);
            if (bytes.length != status.size()) {
                throw new IOException("changed while it was read");
            }
            return bytes;
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return null;
            }
            throw e;
        }
    }

    /** Puts a finished file in the place of another: whoever looks sees the old one or the new one, whole. */
    void replace(String name, byte[] content) throws IOException {
        var temporary = "." + name + ".genv-enforcer-"
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
        var flags = Libc.O_WRONLY | Libc.O_CREAT | Libc.O_EXCL;
        try (var file = new Descriptor(Libc.openat(directory.number(), temporary, flags, EVERYBODYS_FILE))) {
            Libc.fchmod(file.number(), EVERYBODYS_FILE); // whatever the umask is
            Libc.write(file.number(), content);
            Libc.fsync(file.number());
            Libc.renameat(directory.number(), temporary, name);
        } catch (Errno e) {
            removeQuietly(temporary, e);
            throw e;
        }
        Libc.fsync(directory.number());
    }

    /**
     * Waits for genv's lock.
     *
     * @param create whether to make the lock file where there is none; otherwise there is nobody to wait for, and null
     *     comes back
     * @throws LockTimeoutException where somebody held it for longer than that
     */
    @Nullable
    GenvLock lock(Duration timeout, boolean create) throws IOException, InterruptedException {
        return GenvLock.acquire(directory.number(), timeout, create);
    }

    boolean hasLock() throws IOException {
        return has(GenvLock.NAME);
    }

    boolean has(String name) throws IOException {
        try {
            Libc.status(directory.number(), name);
            return true;
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        directory.close();
    }

    private void removeQuietly(String name, IOException cause) {
        try {
            Libc.unlinkat(directory.number(), name);
        } catch (Errno e) {
            cause.addSuppressed(e);
        }
    }
}
