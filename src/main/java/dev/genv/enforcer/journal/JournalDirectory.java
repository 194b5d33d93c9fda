package dev.genv.enforcer.journal;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileStatus;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The open folder of the journal, locked for this service. The service uses only files that no other user could have written: regular
 * files of its own, with one name and closed to others.
 */
public final class JournalDirectory implements AutoCloseable {
    private static final int OWNER_ONLY = 0600;

    private final Path path;
    private final FileNames names;
    private final int directory;
    private final OptionalInt lock;
    private final WriteAccess access;

    private JournalDirectory(Path path, FileNames names, int directory, OptionalInt lock, WriteAccess access) {
        this.access = access;
        this.path = path;
        this.names = names;
        this.directory = directory;
        this.lock = lock;
    }

    /**
     * Opens and locks a folder.
     *
     * @throws JournalException if it cannot be used
     */
    public static JournalDirectory open(Path path, FileNames names) throws JournalException {
        return open(path, names, true);
    }

    /** The same without a lock, only for reading. */
    public static JournalDirectory openToRead(Path path, FileNames names) throws JournalException {
        return open(path, names, false);
    }

    private static JournalDirectory open(Path path, FileNames names, boolean isLocked) throws JournalException {
        int directory;
        try {
            directory = FileCalls.openat(
                    FileCalls.AT_FDCWD, path.toString(), FileCalls.O_RDONLY | FileCalls.O_DIRECTORY, 0);
        } catch (Errno e) {
            throw JournalException.unwritable(path.toString(), e);
        }
        try {
            var access = WriteAccess.ofService();
            access.checkFolder(path, FileCalls.status(directory));
            var lock = isLocked ? OptionalInt.of(lock(path, names, directory, access)) : OptionalInt.empty();
            return new JournalDirectory(path, names, directory, lock, access);
        } catch (JournalException e) {
            closeQuietly(directory, e);
            throw e;
        } catch (IOException e) {
            closeQuietly(directory, e);
            throw JournalException.unwritable(path.toString(), e);
        }
    }

    private static int lock(Path path, FileNames names, int directory, WriteAccess access) throws IOException {
        int file;
        var name = names.lock();
        try {
            file = FileCalls.openat(directory, name, FileCalls.O_RDONLY | FileCalls.O_CREAT, OWNER_ONLY);
        } catch (Errno e) {
            throw e.is(Errno.ELOOP)
                    ? JournalException.foreign(path.resolve(name) + " is a symbolic link")
                    : JournalException.unwritable(path.resolve(name).toString(), e);
        }
        try {
            access.checkFile(path.resolve(name), FileCalls.status(file));
            if (!FileCalls.tryFlock(file)) {
                throw JournalException.locked("another service uses " + path);
            }
            return file;
        } catch (IOException e) {
            closeQuietly(file, e);
            throw e;
        }
    }

    /** Returns the segments, oldest first. */
    public List<Segment> segments() throws IOException {
        var found = new ArrayList<Segment>();
        try (var entries = Files.newDirectoryStream(Path.of("/proc/self/fd", Integer.toString(directory)))) {
            for (var entry : entries) {
                var name = String.valueOf(entry.getFileName());
                var number = names.number(name);
                if (number.isPresent()) {
                    segment(number.get(), name).ifPresent(found::add);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        found.sort(Comparator.comparingLong(Segment::number));
        return found;
    }

    /** Empty if it was deleted meanwhile. */
    private Optional<Segment> segment(long number, String name) throws IOException {
        FileStatus status;
        try {
            status = FileCalls.status(directory, name);
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return Optional.empty();
            }
            throw e;
        }
        access.checkFile(path.resolve(name), status);
        return Optional.of(new Segment(number, status.size(), null));
    }

    public LineReader openToRead(Segment segment) throws IOException {
        return open(segment, FileCalls.O_RDONLY, (file, _) -> new LineReader(file));
    }

    /** Opens a segment, to add to its end. */
    public SegmentFile openToAppend(Segment segment) throws IOException {
        return open(segment, FileCalls.O_WRONLY | FileCalls.O_APPEND, SegmentFile::new);
    }

    private <T> T open(Segment segment, int flags, BiFunction<Integer, Long, T> opened) throws IOException {
        var name = names.segment(segment.number());
        var file = FileCalls.openat(directory, name, flags, 0);
        try {
            var status = FileCalls.status(file);
            access.checkFile(path.resolve(name), status);
            return opened.apply(file, status.size());
        } catch (IOException e) {
            closeQuietly(file, e);
            throw e;
        }
    }

    /**
     * Whether the next run will find what is written here.
     *
     * @param last the last segment; null if there is none
     * @param open its file; null if it is not open
     */
    public boolean isInPlace(@Nullable Segment last, @Nullable SegmentFile open) {
        try {
            return FileCalls.status(directory).isSameFile(FileCalls.status(FileCalls.AT_FDCWD, path.toString()))
                    && FileCalls.status(lock.orElseThrow()).isSameFile(FileCalls.status(directory, names.lock()))
                    && (last == null || isInPlace(last.number(), names.segment(last.number()), open));
        } catch (IOException e) {
            return false; // such as a file that is missing
        }
    }

    private boolean isInPlace(long number, String name, @Nullable SegmentFile open) throws IOException {
        return open == null ? segment(number, name).isPresent() : open.isAt(directory, name);
    }

    /** Creates a segment with this content. It is complete on the disk when it gets its name. */
    public SegmentFile create(long number, SegmentFile.Content content) throws IOException {
        removeIfPresent(names.temporary());
        var flags = FileCalls.O_WRONLY | FileCalls.O_CREAT | FileCalls.O_EXCL | FileCalls.O_APPEND;
        var file = new SegmentFile(FileCalls.openat(directory, names.temporary(), flags, OWNER_ONLY), 0);
        try {
            content.addTo(file);
            file.flush();
            file.sync();
            FileCalls.renameat(directory, names.temporary(), names.segment(number));
            FileCalls.fsync(directory);
            return file;
        } catch (IOException e) {
            file.closeQuietly(e);
            removeQuietly(names.temporary(), e);
            removeQuietly(
                    names.segment(number), e); // else it would be read instead of what follows in the segment before
            throw e;
        }
    }

    /** Deletes a segment. */
    public void remove(Segment segment) throws IOException {
        removeIfPresent(names.segment(segment.number()));
    }

    private void removeIfPresent(String name) throws IOException {
        try {
            FileCalls.unlinkat(directory, name);
        } catch (Errno e) {
            if (!e.is(Errno.ENOENT)) {
                throw e;
            }
        }
    }

    private void removeQuietly(String name, IOException cause) {
        try {
            removeIfPresent(name);
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    private static void closeQuietly(int descriptor, IOException cause) {
        try {
            FileCalls.close(descriptor);
        } catch (Errno e) {
            cause.addSuppressed(e);
        }
    }

    /** Releases the lock. */
    @Override
    public void close() throws IOException {
        try {
            if (lock.isPresent()) {
                FileCalls.close(lock.getAsInt());
            }
        } finally {
            FileCalls.close(directory);
        }
    }
}
