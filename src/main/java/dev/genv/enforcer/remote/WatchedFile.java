package dev.genv.enforcer.remote;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a file says. It is read once, and again whenever it is no longer the same file. */
public final class WatchedFile<T> {
    static final Duration QUIET = Duration.ofSeconds(2);

    private final Path path;
    private final int largest;
    private final Parser<T> parser;
    private @Nullable Stamp stamp;
    private @Nullable T content;

    /**
     * Nothing is read yet.
     *
     * @param largest how many bytes it may have
     */
    public WatchedFile(Path path, int largest, Parser<T> parser) {
        this.path = path;
        this.largest = largest;
        this.parser = parser;
    }

    /** Makes sense of the bytes of a file. */
    public interface Parser<T> {
        /**
         * Does so.
         *
         * @throws IOException where there is no sense in them, with the reason for people
         */
        T parse(byte[] bytes) throws IOException;
    }

    /**
     * What it says now.
     *
     * @throws IOException where it cannot be read, with the reason for people
     */
    public synchronized T current() throws IOException {
        var now = stamp();
        if (content == null || !now.equals(stamp)) {
            content = null;
            // The stamp is older than what is read: a change in between is seen the next time.
            content = parser.parse(read());
            stamp = now;
        }
        return content;
    }

    /**
     * The same, or nothing where it was written to just now: then it may be half of what it is going to say.
     *
     * @throws IOException as {@link #current}
     */
    synchronized Optional<T> settled(Instant when) throws IOException {
        var now = stamp();
        if (content == null || !now.equals(stamp)) {
            if (!now.isQuiet(when)) {
                return Optional.empty();
            }
            var next = parser.parse(read());
            if (!now.equals(stamp())) {
                return Optional.empty();
            }
            content = next;
            stamp = now;
        }
        return Optional.of(content);
    }

    private Stamp stamp() throws IOException {
        try {
            var attributes = Files.readAttributes(path, BasicFileAttributes.class);
            if (!attributes.isRegularFile()) {
                throw new IOException(path + " is not a regular file");
            }
            return new Stamp(attributes.size(), attributes.lastModifiedTime(), attributes.fileKey());
        } catch (NoSuchFileException e) {
            throw missing(e);
        }
    }

    private byte[] read() throws IOException {
        try (var stream = Files.newInputStream(path)) {
            var bytes = stream.readNBytes(largest + 1);
            if (bytes.length > largest) {
                throw new IOException(path + " is longer than " + largest + " bytes");
            }
            return bytes;
        } catch (NoSuchFileException e) {
            throw missing(e);
        }
    }

    private NoSuchFileException missing(NoSuchFileException e) {
        var missing = new NoSuchFileException(path.toString(), null, "there is no such file");
        missing.initCause(e);
        return missing;
    }

    private record Stamp(
            long size, FileTime modified, @Nullable Object inode) {
        boolean isQuiet(Instant when) {
            return Duration.between(modified.toInstant(), when).abs().compareTo(QUIET) >= 0;
        }
    }
}
