package dev.genv.enforcer.remote;

import dev.genv.enforcer.linux.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * A file with one machine on each line. It is read again after a change, once it is no longer being written. If it is invalid,
 * the list stays as it was.
 */
public final class HostFile {
    private static final Logger LOG = Logger.getLogger(HostFile.class);
    static final int LARGEST = 1 << 20;

    private final Path path;
    private final InstantSource clock;
    private final WatchedFile<List<HostAddress>> file;
    private List<HostAddress> hosts;
    private @Nullable String problem;

    /**
     * Opens and reads the file.
     *
     * @throws IllegalArgumentException if the file cannot be read, with the reason
     */
    public HostFile(Path path) {
        this(path, InstantSource.system());
    }

    HostFile(Path path, InstantSource clock) {
        this.path = path;
        this.clock = clock;
        this.file = new WatchedFile<>(path, LARGEST, HostFile::parse);
        try {
            this.hosts = file.current();
        } catch (IOException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** Returns the current list, or the last valid one. */
    public synchronized List<HostAddress> current() {
        try {
            file.currentIfSettled(clock.instant()).ifPresent(this::update);
        } catch (IOException e) {
            report(e.getMessage());
        }
        return hosts;
    }

    /** An empty file is refused, because files are emptied by accident. To remove all machines, remove the file from the settings. */
    private void update(List<HostAddress> now) {
        var lost = now.isEmpty() && !hosts.isEmpty();
        hosts = lost ? hosts : now;
        report(lost ? "it names no host" : null);
    }

    /** Logs a problem once when it begins, and once when it is over. */
    private void report(@Nullable String why) {
        if (Objects.equals(why, problem)) {
            return;
        }
        problem = why;
        if (why == null) {
            LOG.info("The host file can be used again");
        } else {
            LOG.error(path + " cannot be used, and the list of machines stays as it was: " + why);
        }
    }

    private static List<HostAddress> parse(byte[] bytes) throws IOException {
        try {
            return HostAddress.parseLines(new String(bytes, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
    }
}
