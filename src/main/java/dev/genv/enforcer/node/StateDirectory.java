package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * genv's state directory, opened once for one piece of work. Every local user may write in it, so nothing in it is trusted:
 * no link is followed, nothing but a regular file of bounded size is read, and nothing is ever written in place.
 */
final class StateDirectory implements AutoCloseable {
    /** Environments of as much memory as is read of a file take less; and both files are held at once. */
    static final int LARGEST_FILE = 6 << 20;
    /** Users choose how many files there are. */
    private static final int MOST_NAMES = 10_000;

    private static final int EVERYBODYS_FILE = 0666;
    private static final int READABLE_BY_ALL = 0004;
    private static final int EVERYBODYS_DIRECTORY = 0777;

    private final Descriptor directory;

    private StateDirectory(Descriptor directory) {
        this.directory = directory;
    }

    /** Opens it; null where there is none, as on a machine where nobody has used genv yet. */
    static @Nullable StateDirectory open(Path path) throws IOException {
        try {
            var flags = FileCalls.O_RDONLY | FileCalls.O_DIRECTORY;
            return new StateDirectory(new Descriptor(FileCalls.openat(FileCalls.AT_FDCWD, path.toString(), flags, 0)));
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return null;
            }
            throw e;
        }
    }

    /** Lets everybody in, as genv itself would have made the directory. */
    void openToEverybody() throws IOException {
        FileCalls.fchmod(directory.number(), EVERYBODYS_DIRECTORY);
    }

    /** Whether it is root's, and closed to others. */
    boolean isClosedToOthers() throws IOException {
        var status = FileCalls.status(directory.number());
        return status.uid() == 0 && (status.permissions() & EVERYBODYS_DIRECTORY) != EVERYBODYS_DIRECTORY;
    }

    /**
     * Reads a file.
     *
     * @return null where there is none
     */
    byte @Nullable [] read(String name) throws IOException {
        try (var file = new Descriptor(FileCalls.openat(directory.number(), name, FileCalls.O_RDONLY, 0))) {
            var status = FileCalls.status(file.number());
            if (!status.isRegular()) {
                throw new IOException("is not a regular file");
            }
            if (status.links() > 1 && (status.permissions() & READABLE_BY_ALL) == 0) {
                // genv's files are everybody's; this may be a secret of root's, whose words must not stand in any
                // report.
                throw new IOException("is closed to others and has %d names (hard links): put a copy in its place"
                        .formatted(status.links()));
            }
            if (status.size() > LARGEST_FILE) {
                throw new IOException("is larger than " + LARGEST_FILE + " bytes");
            }
            var bytes = FileCalls.read(file.number(), (int) status.size());
            if (bytes.length != status.size() || FileCalls.read(file.number(), 1).length > 0) {
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

    /** What must still be so when a file is replaced. */
    interface Condition {
        boolean holds() throws IOException;
    }

    /**
     * Puts a finished file in the place of another: whoever looks sees the old one or the new one, whole.
     *
     * @param condition looked at as late as can be
     * @return false where it did not hold, and nothing was replaced
     */
    boolean replace(String name, byte[] content, Condition condition) throws IOException {
        var temporary = Leftovers.newName(name);
        try {
            make(temporary, EVERYBODYS_FILE, content);
            if (!condition.holds()) {
                remove(temporary);
                return false;
            }
            FileCalls.renameat(directory.number(), temporary, name);
        } catch (IOException e) {
            removeQuietly(temporary, e);
            throw e;
        }
        FileCalls.fsync(directory.number());
        return true;
    }

    /**
     * Makes a file that is not there yet, finished and on the disk.
     *
     * @throws Errno also where there is one
     */
    void make(String name, int mode, byte[] content) throws IOException {
        var flags = FileCalls.O_WRONLY | FileCalls.O_CREAT | FileCalls.O_EXCL;
        try (var file = new Descriptor(FileCalls.openat(directory.number(), name, flags, mode))) {
            FileCalls.fchmod(file.number(), mode); // whatever the umask is
            FileCalls.write(file.number(), content);
            FileCalls.fsync(file.number());
        }
    }

    /** Opens whatever stands there for reading, but no link. */
    Descriptor open(String name) throws IOException {
        return new Descriptor(FileCalls.openat(directory.number(), name, FileCalls.O_RDONLY, 0));
    }

    void remove(String name) throws IOException {
        FileCalls.unlinkat(directory.number(), name);
    }

    /** What is in it; of a great many, some. */
    List<String> names() throws IOException {
        // The listing is of the directory that is open, whatever its path leads to by now.
        try (var entries = Files.newDirectoryStream(Path.of("/proc/self/fd", Integer.toString(directory.number())))) {
            return StreamSupport.stream(entries.spliterator(), false)
                    .limit(MOST_NAMES)
                    .map(entry -> String.valueOf(entry.getFileName()))
                    .toList();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /** What the kernel says of the directory itself. */
    FileStatus status() throws IOException {
        return FileCalls.status(directory.number());
    }

    /**
     * Waits for genv's lock.
     *
     * @param create whether to make the lock file where there is none; otherwise there is nobody to wait for, and null
     *     comes back
     * @throws LockException where it cannot be had in this time, or is none
     */
    @Nullable
    GenvLock lock(Duration timeout, boolean create) throws IOException, InterruptedException {
        return GenvLock.acquire(directory.number(), timeout, create);
    }

    boolean hasLock() throws IOException {
        return has(GenvLock.NAME);
    }

    boolean has(String name) throws IOException {
        return status(name) != null;
    }

    /** When it or one of the state files in it was last changed, as the kernel says, in nanoseconds since the epoch. */
    long lastChange() throws IOException {
        var last = status().changed();
        for (var name : List.of(RawState.ENVS, RawState.DEVICES)) {
            var file = status(name);
            last = file == null ? last : Math.max(last, file.changed());
        }
        return last;
    }

    /** What stands there, without following a link; null where there is nothing. */
    @Nullable
    FileStatus status(String name) throws IOException {
        try {
            return FileCalls.status(directory.number(), name);
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return null;
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
            FileCalls.unlinkat(directory.number(), name);
        } catch (Errno e) {
            cause.addSuppressed(e);
        }
    }
}
