package dev.genv.enforcer.files;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The parsed content of a file. The file is read once, and again after each change. */
public final class WatchedFile<T> {
    static final Duration QUIET = Duration.ofSeconds(2);

    private final Locator locator;
    private final int largest;
    private final Parser<T> parser;
    private RegularFile.@Nullable Status lastStatus;
    private @Nullable T content;

    /**
     * Creates it without reading the file.
     *
     * @param largest the largest size in bytes
     */
    public WatchedFile(Path path, int largest, Parser<T> parser) {
        this(() -> path, largest, parser);
    }

    /**
     * The same for a file whose place may change.
     *
     * @param locator called for each access
     */
    public WatchedFile(Locator locator, int largest, Parser<T> parser) {
        this.locator = locator;
        this.largest = largest;
        this.parser = parser;
    }

    /** Finds the place of a file. */
    public interface Locator {
        /**
         * Returns the path.
         *
         * @throws IOException if it cannot be found, with the reason
         */
        Path locate() throws IOException;
    }

    /** Parses the bytes of a file. */
    public interface Parser<T> {
        /**
         * Parses the bytes.
         *
         * @throws IOException if they are invalid, with the reason
         */
        T parse(byte[] bytes) throws IOException;
    }

    /**
     * Returns the present content.
     *
     * @throws IOException if it cannot be read, with the reason
     */
    public synchronized T current() throws IOException {
        try (var file = open()) {
            if (content == null || !file.status().equals(lastStatus)) {
                content = null;
                content = parser.parse(file.read(largest));
                lastStatus = file.status();
            }
            return content;
        }
    }

    /**
     * The same; empty if the file was written a moment ago and may be incomplete.
     *
     * @throws IOException as {@link #current}
     */
    public synchronized Optional<T> currentIfSettled(Instant when) throws IOException {
        try (var file = open()) {
            if (content == null || !file.status().equals(lastStatus)) {
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
                lastStatus = file.status();
            }
            return Optional.of(content);
        }
    }

    private RegularFile open() throws IOException {
        var path = locator.locate();
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
