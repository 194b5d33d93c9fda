package dev.genv.enforcer.linux;

import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The parsed content of a file. The file is read once, and again after each change. Equal statuses mean equal content, because users
 * cannot set the change time.
 */
public final class WatchedFile<T> {
    private static final Logger LOG = Logger.getLogger(WatchedFile.class);
    static final Duration QUIET = Duration.ofSeconds(2);

    private final Locator locator;
    private final int largest;
    private final StatusCheck check;
    private final Parser<T> parser;
    private @Nullable FileStatus lastStatus;
    private @Nullable T content;

    /** @param largest the largest size in bytes */
    public WatchedFile(Path path, int largest, Parser<T> parser) {
        this(() -> path, largest, parser);
    }

    /** @param locator called for each access, because the place of the file may change */
    public WatchedFile(Locator locator, int largest, Parser<T> parser) {
        this(locator, largest, (_, _) -> {}, parser);
    }

    /** @param check called for the opened file before it is read, because the file at the path may be exchanged */
    public WatchedFile(Locator locator, int largest, StatusCheck check, Parser<T> parser) {
        this.locator = locator;
        this.largest = largest;
        this.check = check;
        this.parser = parser;
    }

    public interface Locator {
        Path locate() throws IOException;
    }

    /** An exception tells why a file must not be read. */
    public interface StatusCheck {
        void check(Path path, FileStatus status) throws IOException;
    }

    /** An exception tells why the bytes are invalid. */
    public interface Parser<T> {
        T parse(byte[] bytes) throws IOException;
    }

    /**
     * Reads files again and again, on a thread of its own: a file system may not answer, and that must not prevent the exit of the service.
     */
    public static void watch(String thread, Duration pause, Runnable reading) {
        Thread.ofPlatform().name(thread).daemon().start(() -> {
            try {
                while (true) {
                    Thread.sleep(pause);
                    try {
                        reading.run();
                    } catch (RuntimeException e) {
                        LOG.errorf(e, "The thread %s failed to read its files; it continues", thread);
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    /** Returns the present content. An exception tells why it cannot be read. */
    public T current() throws IOException {
        return current(null).orElseThrow();
    }

    /** The same; empty if the file was written a moment ago and may be incomplete. */
    public Optional<T> currentIfSettled(Instant when) throws IOException {
        return current(when);
    }

    private synchronized Optional<T> current(@Nullable Instant when) throws IOException {
        var path = locator.locate();
        try (var file = open(path)) {
            var status = file.status(); // before it is read: what is written later is a change
            check.check(path, status);
            if (content == null || !status.equals(lastStatus)) {
                if (when != null && isRecent(status, when)) {
                    return Optional.empty();
                }
                var next = parser.parse(read(path, file));
                if (when != null && !isStill(status)) {
                    return Optional.empty();
                }
                content = next;
                lastStatus = status;
            }
            return Optional.of(content);
        }
    }

    private static boolean isRecent(FileStatus status, Instant when) {
        var age = Duration.between(Instant.EPOCH.plusNanos(status.modified()), when);
        return age.abs().compareTo(QUIET) < 0;
    }

    private boolean isStill(FileStatus status) throws IOException {
        try (var after = open(locator.locate())) {
            return after.status().equals(status);
        }
    }

    private static Descriptor open(Path path) throws IOException {
        try {
            return Descriptor.openRegular(path);
        } catch (NoSuchFileException e) {
            var missing = new NoSuchFileException(path.toString(), null, "there is no such file");
            missing.initCause(e);
            throw missing;
        }
    }

    private byte[] read(Path path, Descriptor file) throws IOException {
        try {
            var bytes = file.read(largest + 1);
            if (bytes.length > largest) {
                throw new FileSystemException(path.toString(), null, "it is longer than " + largest + " bytes");
            }
            return bytes;
        } catch (Errno e) {
            throw e.of(path.toString());
        }
    }
}
