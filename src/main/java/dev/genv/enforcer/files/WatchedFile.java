package dev.genv.enforcer.files;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
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
    private RegularFile.@Nullable Status seen;
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
        try (var file = open()) {
            if (content == null || !file.status().equals(seen)) {
                content = null;
                content = parser.parse(file.read(largest));
                seen = file.status();
            }
            return content;
        }
    }

    /**
     * The same, or nothing where it was written to just now: then it may be half of what it is going to say.
     *
     * @throws IOException as {@link #current}
     */
    public synchronized Optional<T> settled(Instant when) throws IOException {
        try (var file = open()) {
            if (content == null || !file.status().equals(seen)) {
                if (!isQuiet(file.status(), when)) {
                    return Optional.empty();
                }
                var next = parser.parse(file.read(largest));
                try (var after = open()) {
                    if (!after.status().equals(file.status())) {
                        return Optional.empty();
                    }
                }
                content = next;
                seen = file.status();
            }
            return Optional.of(content);
        }
    }

    private RegularFile open() throws IOException {
        try {
            return RegularFile.open(path);
        } catch (NoSuchFileException e) {
            var missing = new NoSuchFileException(path.toString(), null, "there is no such file");
            missing.initCause(e);
            throw missing;
        }
    }

    private static boolean isQuiet(RegularFile.Status status, Instant when) {
        var age = Duration.between(status.modified().toInstant(), when);
        return age.abs().compareTo(QUIET) >= 0;
    }
}
